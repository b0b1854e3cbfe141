"""What reports of many simulations share: the paper's reproduction and the league.

`measure` plays many simulations in rounds until each is precise enough, `progress` shows how far it
is, `estimates` compares numbers that have errors, `pictures` and `page` present what was found.
"""
