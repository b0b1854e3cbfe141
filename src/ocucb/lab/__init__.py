"""`ocucb lab`: a page on which one understands bandits by playing with them.

    address -> State -> sharpen -> numbers, sent as they sharpen -> page
                     -> the Python and the command that give the same numbers

`state` knows what can be played, `crew` shares the processor between visitors, `rounds` plays, and
`app` is all that knows HTTP.
"""
