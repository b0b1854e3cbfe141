"""Bandit problems: arms with their means, gaps and rewards, and the paper's instances.

A `Problem` is a vector of means and a kind of reward. `gaussian`, `bernoulli`, `uniform_rewards`,
`beta_rewards` and `custom_rewards` make one from means, `empirical` from rewards that were seen;
`gap`, `moss_failure`, `uniform_arms` and `conjecture` make the paper's. `linear_problems` has those
whose arms have features, `changing_problems` those whose means change.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ._memo import cached_property
from ._text import in_full, remedy, shown, to_count
from ._types import Counts, Floats, Words
from ._users import plain
from ._vectors import Numbers, to_bounds, to_positive, to_vector
from .rewards import (
    BERNOULLI,
    BETA,
    EXPONENTIAL,
    GAUSSIAN,
    SAMPLERS,
    UNIFORM,
    Rewards,
    empirical_rewards,
    rewards_of,
)

MOST_ARMS = 10**8


@dataclass(frozen=True, eq=False)
class Problem:
    """A bandit problem.

    Attributes
    ----------
    means : ndarray
        The expected reward of each arm.
    scales : ndarray
        One number per arm for its rewards: the standard deviation of Gaussian rewards, half the
        width of uniform ones, the concentration of Beta rewards.
    rewards : Rewards
        The kind of reward.
    sigma : float
        The noise of every arm is sigma-subgaussian; policies are told this number.
    name : str
        Its name in tables and figures.
    paper_horizon : int or None
        The horizon that the paper uses with this instance.
    table : ndarray
        The rewards that `empirical` draws from, after K + 1 numbers: where those of each arm begin,
        and where the last end. Empty for other kinds.
    check : bool
        Whether to check before play that rewards have the means and bounds that they claim.
    features : ndarray
        A row of numbers for each arm, which policies for arms with features are told; empty if
        there are none. Where they are drawn anew in each round, only the shape counts.
    reach : float
        Where means change with the round, a regret that no round exceeds, or hardly any.
    changes : ndarray of int
        Rounds from which on all is different: the first ones with new means.

    Examples
    --------
    >>> import ocucb
    >>> problem = ocucb.gap(K=3, gap=0.5)
    >>> problem
    <problem gap:K=3,gap=0.5: 3 arms, gaussian, sigma=1>
    >>> problem.arms, problem.best_arm
    (3, 0)
    """

    means: Floats
    scales: Floats
    rewards: Rewards
    sigma: float
    name: str
    paper_horizon: int | None = None
    table: Floats = field(default_factory=lambda: np.empty(0))
    check: bool = False
    features: Floats = field(default_factory=lambda: np.empty((0, 0)))
    reach: float = 0.0
    changes: Counts = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        vectors: Any = self.means, self.scales, self.gaps, self.table, self.features, self.changes
        for vector in vectors:
            vector.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt in the other process, so that its vectors are read-only there too.
        return Problem, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def arms(self) -> int:
        """Number of arms, K."""
        return self.means.size

    @cached_property
    def gaps(self) -> Floats:
        """The largest mean minus each arm's mean."""
        gaps: Floats = self.means.max() - self.means
        return gaps

    @property
    def largest_gap(self) -> float:
        """The gap of the worst arm; where means change with the round, the `reach`."""
        return max(float(self.gaps.max()), self.reach)

    @property
    def typical(self) -> Problem:
        """The problem itself: of a prior, this is one that stands for all."""
        return self

    @property
    def best_arm(self) -> int:
        """The arm with the largest mean, counted from 0; the first if several tie."""
        return int(self.means.argmax())

    @cached_property
    def identity(self) -> str:
        """A hash of everything that the rewards depend on."""
        digest = hashlib.sha256((self.rewards.name + self.rewards.code.identity).encode())
        digest.update(self.means.tobytes())
        digest.update(self.scales.tobytes())
        if self.rewards.inputs != SAMPLERS[0] or self.rewards.rounds:  # nobody else knows the table
            digest.update(self.table.tobytes())
        if self.rewards.unit and not self.rewards.binary:  # which a policy may know
            digest.update(b"unit")
        if self.features.size:
            digest.update(f"features {self.features.shape}".encode() + self.features.tobytes())
        if self.changes.size:  # of which the result speaks
            digest.update(f"changes {self.changes.tolist()}".encode())
        return digest.hexdigest()

    def last_change(self, horizon: int) -> int:
        """Return the last round up to the horizon in which all is different; 0 if there is none."""
        return int(max((t for t in self.changes.tolist() if t <= horizon), default=0))

    def reward(self, arm: int, stream: Words, mean: float | None = None) -> float:
        """Draw one reward of an arm as kernels do, with its own mean or another one."""
        given: dict[str, Any] = {"arm": arm, "table": self.table, "stream": stream}
        given["mean"] = float(self.means[arm]) if mean is None else mean
        given["scale"] = float(self.scales[arm])
        return self.rewards.draw(*(given[name] for name in self.rewards.inputs))

    def retaken(self) -> Problem:
        """Return the problem with a sampler of now, if it is unknown whether it has changed."""
        if self.rewards.code.unknown is None:
            return self
        return replace(self, rewards=replace(self.rewards))

    def __repr__(self) -> str:
        told = f"{self.arms} arms, {self.rewards.name}, sigma={self.sigma:g}"
        if self.features.size:
            told += f", {self.features.shape[1]} features"
        return f"<problem {self.name}: {told}>"


UNEQUAL = "; sigma "  # in the name of a problem whose arms differ in this, before the list


def _few(vector: Floats) -> str:
    shown = [f"{value:g}" for value in vector[:6]]
    return ", ".join(shown) + (", ..." if vector.size > 6 else "")


def _list(vector: Floats) -> str:
    return f"means {_few(vector)}"


def _named(name: str, sigmas: Floats) -> str:
    """Return the name of a problem, with the arms' sigmas if they differ."""
    return name if (sigmas == sigmas[0]).all() else f"{name}{UNEQUAL}{_few(sigmas)}"


def gaussian(means: Numbers, sigma: Numbers | float = 1.0) -> Problem:
    """Arms with normal rewards.

    Parameters
    ----------
    means : list of float
        Expected rewards.
    sigma : float or list of float, optional
        Standard deviation, one for all arms or one per arm; policies are told the largest.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.gaussian([0, -0.3]).gaps
    array([0. , 0.3])
    """
    vector = to_vector(means, "means")
    scales = to_positive(sigma, "sigma", vector.size)
    name = _named(_list(vector), scales)
    return Problem(vector, scales, GAUSSIAN, float(scales.max()), name)


def bernoulli(means: Numbers) -> Problem:
    """Arms that pay 1 with the given probabilities and 0 otherwise; 1/2-subgaussian.

    Parameters
    ----------
    means : list of float
        Probabilities of a reward of 1.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.bernoulli([0.5, 0.4]).sigma
    0.5
    """
    vector = to_vector(means, "means")
    for i in np.flatnonzero((vector < 0) | (vector > 1)):
        raise ValueError(
            f"means of Bernoulli rewards must lie in [0, 1], got {vector[i]:g} for arm {i + 1}."
        )
    return Problem(vector, np.full(vector.size, 0.5), BERNOULLI, 0.5, _list(vector))


def uniform_rewards(means: Numbers, halfwidth: Numbers | float = 1.0) -> Problem:
    """Arms with rewards uniform between mean - halfwidth and mean + halfwidth.

    Such noise is subgaussian with sigma equal to its standard deviation, halfwidth / sqrt(3).

    Parameters
    ----------
    means : list of float
        Expected rewards.
    halfwidth : float or list of float, optional
        Half the width of the interval, one for all arms or one per arm.

    Examples
    --------
    >>> import ocucb
    >>> round(ocucb.uniform_rewards([0.5, 0.2], halfwidth=0.2).sigma, 4)
    0.1155
    """
    vector = to_vector(means, "means")
    scales = to_positive(halfwidth, "halfwidth", vector.size)
    name = _named(_list(vector), scales / math.sqrt(3))
    return Problem(vector, scales, UNIFORM, float(scales.max()) / math.sqrt(3), name)


def beta_rewards(means: Numbers, concentration: Numbers | float = 2.0) -> Problem:
    """Arms with Beta rewards in [0, 1], such as ratings.

    An arm with mean m and concentration c draws from Beta(c m, c (1 - m)), with variance
    m (1 - m) / (1 + c). Policies are told what is known of any rewards in [0, 1]: sigma is 1/2.

    Parameters
    ----------
    means : list of float
        Expected rewards, above 0 and below 1.
    concentration : float or list of float, optional
        How close rewards lie to their mean, one for all arms or one per arm; with 2, rewards
        with mean 1/2 are uniform.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import ocucb
    >>> ocucb.beta_rewards([0.7, 0.6], concentration=10)
    <problem means 0.7, 0.6: 2 arms, beta, sigma=0.5>
    """
    vector = to_vector(means, "means")
    for i in np.flatnonzero((vector <= 0) | (vector >= 1)):
        raise ValueError(
            f"means of Beta rewards must lie between 0 and 1, got {vector[i]:g} for arm {i + 1}."
        )
    scales = to_positive(concentration, "concentration", vector.size)
    return Problem(vector, scales, BETA, 0.5, _list(vector))


def exponential_rewards(means: Numbers) -> Problem:
    """Arms with exponential rewards, such as waiting times: above 0, and rarely very large.

    The standard deviation of an arm is its mean; policies are told the largest, as sigma. But the
    rewards are not sigma-subgaussian: large ones are more frequent than confidence bounds allow,
    so that bounds on regret do not hold, and a policy may need a larger constant.

    Parameters
    ----------
    means : list of float
        Expected rewards, above 0.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import ocucb
    >>> ocucb.exponential_rewards([2.0, 1.5])
    <problem means 2, 1.5: 2 arms, exponential, sigma=2>
    """
    vector = to_vector(means, "means")
    for i in np.flatnonzero(vector <= 0):
        raise ValueError(
            f"means of exponential rewards must be above 0, got {vector[i]:g} for arm {i + 1}."
        )
    ones = np.ones(vector.size)
    return Problem(vector, ones, EXPONENTIAL, float(vector.max()), _list(vector))


def empirical(arrays: Sequence[Numbers]) -> Problem:
    """Arms whose rewards are drawn, with replacement, from rewards that were seen.

    An arm's mean is that of its rewards. If all of them lie in [0, 1], policies know that, and
    sigma is 1/2; otherwise it is half the distance between the smallest and the largest. Rewards of
    0 and 1 alone are Bernoulli rewards.

    Parameters
    ----------
    arrays : list of lists of float
        For each arm, the rewards that it paid.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import ocucb
    >>> stars = ocucb.empirical([[0.75, 1, 1, 0.5], [0.25, 1, 0.5]])
    >>> stars.means
    array([0.8125    , 0.58333333])
    """
    try:
        parts = list(arrays)
    except TypeError:
        got = shown(arrays)
        raise TypeError(f"arrays must be a list of lists of rewards, got {got}.") from None
    if not parts:
        raise ValueError("arrays must name at least one arm, got none.")
    if isinstance(arrays, Mapping):
        raise TypeError("arrays must be a list of lists of rewards: pass list(arrays.values()).")
    rewards = []
    for i, part in enumerate(parts):
        if np.ndim(part) == 0:
            raise TypeError(f"each arm needs a list of rewards, got {shown(part)} for arm {i + 1}.")
        if np.size(part) == 0:
            raise ValueError(f"each arm needs at least one reward, got none for arm {i + 1}.")
        rewards.append(to_vector(part, f"rewards of arm {i + 1}"))
    means = np.array([part.mean() for part in rewards])
    values = np.concatenate(rewards)
    if np.isin(values, (0.0, 1.0)).all():
        return bernoulli(means)
    low, high = float(values.min()), float(values.max())
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    if low == high:
        raise ValueError(f"rewards must not all be the same, got {low:g} for every arm.")
    starts = np.cumsum([len(rewards) + 1, *(part.size for part in rewards)], dtype=np.float64)
    table = np.concatenate([starts, values])
    scales, kind = np.ones(means.size), empirical_rewards(low, high)
    return Problem(means, scales, kind, (high - low) / 2, _list(means), table=table)


def custom_rewards(
    sample: Callable[..., float],
    means: Numbers,
    sigma: float | None = None,
    scales: Numbers | float = 1.0,
    *,
    bounds: tuple[float, float] | None = None,
    check: bool = True,
) -> Problem:
    """Arms with rewards drawn by your own function.

    Parameters
    ----------
    sample : callable
        ``sample(mean, scale, stream)`` returns one finite reward with expectation `mean`;
        ``sample(arm, mean, scale, stream)`` is told the arm too, counted from 0. It is compiled
        by numba; randomness comes from `ocucb.random`.
    means : list of float
        Expected rewards.
    sigma : float, optional
        The noise is sigma-subgaussian. With `bounds`, half their distance unless given.
    scales : float or list of float, optional
        Passed to `sample` unchanged.
    bounds : (low, high), optional
        Rewards lie between these. With (0, 1), policies use it.
    check : bool, optional
        Whether to draw 1,000 rewards of each arm (of 100 arms at most) before play, and to refuse a
        sampler whose rewards do not have the means, or leave the bounds. If noise is
        sigma-subgaussian, or symmetric around the mean with any tails, a correct sampler is refused
        with probability below 1e-6.

    Examples
    --------
    >>> import ocucb
    >>> from ocucb.random import uniform
    >>> def coin(mean, scale, stream):
    ...     return mean + (scale if uniform(stream) < 0.5 else -scale)
    >>> ocucb.custom_rewards(coin, [0, -0.3], sigma=1.0)
    <problem means 0, -0.3: 2 arms, coin, sigma=1>
    """
    vector = to_vector(means, "means")
    sample = plain(sample)  # it may have been compiled by numba.njit
    if not inspect.isfunction(sample):
        raise TypeError(f"sample must be a plain function, got {shown(sample)}.")
    arguments = tuple(inspect.signature(sample).parameters)
    if arguments not in SAMPLERS[:2]:
        raise TypeError(
            f"sample must take the arguments {' or '.join(map(', '.join, SAMPLERS[:2]))}, in this "
            f"order, got {', '.join(arguments) or 'none'}."
        )
    if not isinstance(check, bool):
        raise TypeError(f"check must be True or False, got {shown(check)}.")
    limits = None if bounds is None else to_bounds(bounds, vector)
    if sigma is None:
        if limits is None:
            raise TypeError("give sigma, or bounds=(low, high), so that policies know the noise.")
        sigma = (limits[1] - limits[0]) / 2
    positive = float(to_positive(sigma, "sigma", 1)[0])
    numbers = to_vector(scales, "scales", vector.size)
    kind = rewards_of(sample, limits)
    return Problem(vector, numbers, kind, positive, _list(vector), check=check)


def _uniform(means: Numbers, sigma: Numbers | float = 1.0) -> Problem:
    return uniform_rewards(means, gaussian(means, sigma).scales * math.sqrt(3.0))


def _beta(means: Numbers, sigma: Numbers | float | None = None) -> Problem:
    problem = beta_rewards(means)
    if sigma is None:
        return problem
    spread = to_positive(sigma, "sigma", problem.arms)
    most = np.sqrt(problem.means * (1.0 - problem.means))
    for i in np.flatnonzero(spread >= most):
        raise ValueError(
            f"the standard deviation of Beta rewards with mean {problem.means[i]:g} must be below "
            f"{most[i]:.4g}, got {spread[i]:g}."
        )
    return beta_rewards(means, (most / spread) ** 2 - 1.0)


# From means and, where they take it, sigma: the standard deviation of each arm, or of all.
KINDS: dict[str, Callable[..., Problem]] = {
    "gaussian": gaussian,
    "bernoulli": bernoulli,
    "uniform": _uniform,
    "beta": _beta,
    "exponential": exponential_rewards,
}


def takes_sigma(name: str) -> bool:
    """Tell whether rewards of the kind called `name` have a standard deviation to choose.

    >>> takes_sigma("gaussian"), takes_sigma("bernoulli")
    (True, False)
    """
    if name not in KINDS:
        raise ValueError(f"unknown kind of reward {shown(name)}; {remedy(name, KINDS)}")
    return "sigma" in inspect.signature(KINDS[name]).parameters


def of_kind(name: str, means: Numbers, sigma: Numbers | float | None = None) -> Problem:
    """Return arms with rewards of the kind called `name`.

    >>> of_kind("bernoulli", [0.5, 0.4])
    <problem means 0.5, 0.4: 2 arms, bernoulli, sigma=0.5>
    """
    if not takes_sigma(name) and sigma is not None:
        raise ValueError(f"sigma does not apply to {name} rewards.")
    return KINDS[name](means) if sigma is None else KINDS[name](means, sigma=sigma)


def _instance(means: Numbers, name: str, sigma: Numbers | float, horizon: int | None) -> Problem:
    problem = gaussian(means, sigma)
    return replace(problem, name=_named(name, problem.scales), paper_horizon=horizon)


def not_a_problem(given: Any) -> TypeError:
    """Return the error for what was passed as a problem and is none, with what may be meant.

    >>> print(not_a_problem("gap:K=3"))
    problem must be a Problem such as gap(K=2, gap=0.3), got 'gap:K=3': make one with parse_problem.
    """
    make = ""
    if isinstance(given, str):
        make = ": make one with parse_problem"
    elif isinstance(given, list | tuple | np.ndarray):
        make = ": make one with gaussian or bernoulli"
    return TypeError(
        f"problem must be a Problem such as gap(K=2, gap=0.3), got {shown(given)}{make}."
    )


def to_arms(K: int, least: int = 1) -> int:
    """Return a number of arms that fits in memory."""
    K = to_count(K, "K", least)
    if K > MOST_ARMS:
        raise ValueError(f"K must be at most {MOST_ARMS}, got {K}.")
    return K


def gap(K: int = 2, gap: float = 0.3, sigma: Numbers | float = 1.0) -> Problem:
    """One arm with mean 0 and K - 1 arms with mean -gap: most of the paper's experiments.

    Parameters
    ----------
    K : int, optional
        Number of arms.
    gap : float, optional
        By how much the others are worse, at least 0.
    sigma : float or list of float, optional
        Standard deviation of the rewards.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.gap(K=3, gap=0.5).means
    array([ 0. , -0.5, -0.5])
    """
    K = to_arms(K)
    width = float(to_vector(gap, "gap", 1)[0])
    if width < 0:
        raise ValueError(f"gap must be at least 0, got {width:g}.")
    means = np.full(K, -width)
    means[0] = 0.0
    return _instance(means, f"gap:K={K},gap={in_full(width)}", sigma, None)


def moss_failure(K: int = 50, sigma: Numbers | float = 1.0) -> Problem:
    """Means 0, -1/(4K), -1, ..., -1, with horizon K^3: where the regret of MOSS explodes.

    Parameters
    ----------
    K, sigma : optional
        As for `gap`; at least 2 arms.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.moss_failure(K=4).means
    array([ 0.    , -0.0625, -1.    , -1.    ])
    """
    K = to_arms(K, least=2)
    means = np.full(K, -1.0)
    means[:2] = 0.0, -1.0 / (4.0 * K)
    return _instance(means, f"moss-failure:K={K}", sigma, K**3)


def uniform_arms(K: int = 10, sigma: Numbers | float = 1.0) -> Problem:
    """Means -(i - 1) / K for i = 1 ... K: the paper's last experiment.

    Parameters
    ----------
    K, sigma : optional
        As for `gap`.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.uniform_arms(K=4).means
    array([ 0.  , -0.25, -0.5 , -0.75])
    """
    K = to_arms(K)
    return _instance(0.0 - np.arange(K) / K, f"uniform:K={K}", sigma, None)


def conjecture(K: int = 50, sigma: Numbers | float = 1.0) -> Problem:
    """Means 1/2, 1/2 - 1/K, 0, ..., 0, with horizon K^2: the counterexample in section 2.1.

    Parameters
    ----------
    K, sigma : optional
        As for `gap`; at least 2 arms.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.conjecture(K=4).means
    array([0.5 , 0.25, 0.  , 0.  ])
    """
    K = to_arms(K, least=2)
    means = np.zeros(K)
    means[:2] = 0.5, 0.5 - 1.0 / K
    return _instance(means, f"conjecture:K={K}", sigma, K**2)
