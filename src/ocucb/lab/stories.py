"""Seven guided stories: each a question, a sentence or two, and the state that shows the answer."""

from __future__ import annotations

from typing import NamedTuple


class Story(NamedTuple):
    """A prepared stop; `figure` is what to look at."""

    title: str
    text: str
    address: str
    figure: str


STORIES = (
    Story(
        "Why UCB explores too much",
        "UCB's bonus grows with log t for ever, so it returns to the worse arm long after it has "
        "been told apart. OCUCB knows how many rounds are left, and lets go. Both find the best "
        "arm; one pays twice as much.",
        "means=0,-0.3&horizon=100000&policy=ucb&policy=ocucb",
        "regret",
    ),
    Story(
        "The trap of MOSS",
        "One arm is nearly as good as the best, and many are bad. MOSS divides the horizon among "
        "all arms, gives up on the nearly best too early, and sometimes keeps the wrong one. Look "
        "at its tail: most runs are fine, a few are ruinous.",
        "means=0,-0.02,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1&horizon=1000000&policy=moss&policy=ocucb",
        "tails",
    ),
    Story(
        "The rare failure that decides the mean",
        "With a smaller constant UCB looks better in nearly every run. But once in a while the "
        "best arm begins badly and is never played again. Such failures cost the whole horizon: "
        "the tail is flat, far to the right. Slide the constant and watch the mean turn.",
        "means=0,-0.5&horizon=100000&policy=ucb:constant=0.3&policy=ucb:constant=1&policy=ucb",
        "tails",
    ),
    Story(
        "Clicks at one percent",
        "Headlines are clicked by 1% or 1.3% of readers. A policy that only knows that rewards lie "
        "between 0 and 1 assumes far too much noise. KL-OCUCB and KL-UCB know the noise of rare "
        "clicks, and lose a fraction.",
        "rewards=bernoulli&means=0.013,0.01,0.01&horizon=100000&policy=ucb&policy=kl-ucb"
        "&policy=kl-ocucb",
        "regret",
    ),
    Story(
        "The unknown horizon",
        "OCUCB and MOSS are told when the experiment ends, and use it. Their anytime relatives are "
        "not. See what that knowledge is worth, and that it is worth less than a good policy.",
        "means=0,-0.2,-0.2&horizon=100000&policy=ocucb&policy=ocucb-n&policy=moss"
        "&policy=moss-anytime",
        "regret",
    ),
    Story(
        "Why an arm is left alone",
        "One run, round by round. An arm's index is its mean plus a bonus that shrinks with its "
        "pulls. OCUCB's bonus also shrinks as time runs out, so all indices sink together, and an "
        "arm that fell behind stays behind. Press play, then compare with UCB, whose bonus rises.",
        "means=0,-0.7,-1&horizon=10000&policy=ocucb&policy=ucb&race=300&run=1",
        "race",
    ),
    Story(
        "How hard is a gap?",
        "A tiny gap costs little because mistakes are cheap, a large one because it is seen at "
        "once. In between lies the worst problem, and it differs between policies. On the left a "
        "quiet world, on the right one in which the second arm is noisier.",
        "means=0,-0.3&sigma=1&rewards2=gaussian&means2=0,-0.3&sigma2=1,2&horizon=10000"
        "&policy=ocucb&policy=ucb&policy=thompson",
        "gaps",
    ),
)
