"""Bandit problems: arms with their means, gaps and rewards, and the paper's instances.

A `Problem` is a vector of means and a kind of reward. `gaussian`, `bernoulli`, `uniform_rewards`
and `custom_rewards` make one from means; `gap`, `moss_failure`, `uniform_arms` and `conjecture`
make the paper's.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._memo import cached_property
from ._text import shown, split_specification, to_count, to_floats
from ._types import Floats
from ._users import plain
from .rewards import BERNOULLI, GAUSSIAN, UNIFORM, Rewards, rewards_of

Numbers = Sequence[float] | npt.NDArray[np.floating[Any]]

MOST_ARMS = 10**8
_PLACE = "between -1e100 and 1e100"


@dataclass(frozen=True, eq=False)
class Problem:
    """A bandit problem.

    Attributes
    ----------
    means : ndarray
        The expected reward of each arm.
    scales : ndarray
        One number per arm for its rewards: the standard deviation of Gaussian rewards, half the
        width of uniform ones.
    rewards : Rewards
        The kind of reward.
    sigma : float
        The noise of every arm is sigma-subgaussian; policies are told this number.
    name : str
        Its name in tables and figures.
    paper_horizon : int or None
        The horizon that the paper uses with this instance.

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

    def __post_init__(self) -> None:
        for vector in (self.means, self.scales, self.gaps):
            vector.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt in the other process, so that its vectors are read-only there too.
        return Problem, tuple(getattr(self, one.name) for one in fields(self))

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
    def best_arm(self) -> int:
        """The arm with the largest mean, counted from 0; the first if several tie."""
        return int(self.means.argmax())

    @cached_property
    def identity(self) -> str:
        """A hash of everything that the rewards depend on."""
        digest = hashlib.sha256((self.rewards.name + self.rewards.code.identity).encode())
        digest.update(self.means.tobytes())
        digest.update(self.scales.tobytes())
        return digest.hexdigest()

    def retaken(self) -> Problem:
        """Return the problem with a sampler of now, if it is unknown whether it has changed."""
        if self.rewards.code.unknown is None:
            return self
        return replace(self, rewards=replace(self.rewards))

    def __repr__(self) -> str:
        return f"<problem {self.name}: {self.arms} arms, {self.rewards.name}, sigma={self.sigma:g}>"


def _vector(values: Numbers | float, what: str, size: int | None = None) -> Floats:
    """Return finite numbers as a vector, or say which one is wrong."""
    vector = np.atleast_1d(to_floats(values, what, _PLACE))
    if size is not None and vector.size == 1:
        vector = np.full(size, vector[0])
    if vector.ndim != 1:
        raise ValueError(f"{what} must be a list of numbers, got a {vector.ndim}-D array.")
    if size is None and vector.size < 1:
        raise ValueError(f"{what} must name at least one arm, got none.")
    if size is not None and vector.size != size:
        want = f"one number or one for each of {size} arms"
        raise ValueError(f"{what} must be {want}, got {vector.size}.")
    for i in np.flatnonzero(~np.isfinite(vector)):
        raise ValueError(f"{what} must be finite, got {vector[i]} for arm {i + 1}.")
    # Their squares must neither overflow nor vanish.
    for i in np.flatnonzero(np.abs(vector) > 1e100):
        raise ValueError(f"{what} must lie {_PLACE}, got {vector[i]:g} for arm {i + 1}.")
    return vector


def _positive(values: Numbers | float, what: str, size: int) -> Floats:
    vector = _vector(values, what, size)
    for i in np.flatnonzero(~(vector > 0)):
        raise ValueError(f"{what} must be greater than 0, got {vector[i]:g}.")
    for i in np.flatnonzero(vector < 1e-100):
        raise ValueError(f"{what} must be at least 1e-100, got {vector[i]:g}.")
    return vector


def _list(vector: Floats) -> str:
    shown = [f"{value:g}" for value in vector[:6]]
    return "means " + ", ".join(shown) + (", ..." if vector.size > 6 else "")


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
    vector = _vector(means, "means")
    scales = _positive(sigma, "sigma", vector.size)
    return Problem(vector, scales, GAUSSIAN, float(scales.max()), _list(vector))


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
    vector = _vector(means, "means")
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
    vector = _vector(means, "means")
    scales = _positive(halfwidth, "halfwidth", vector.size)
    return Problem(vector, scales, UNIFORM, float(scales.max()) / math.sqrt(3), _list(vector))


def custom_rewards(
    sample: Callable[..., float], means: Numbers, sigma: float, scales: Numbers | float = 1.0
) -> Problem:
    """Arms with rewards drawn by your own function.

    Parameters
    ----------
    sample : callable
        ``sample(mean, scale, stream)`` returns one finite reward with expectation `mean`. It is
        compiled by numba; randomness comes from `ocucb.random`.
    means : list of float
        Expected rewards.
    sigma : float
        The noise is sigma-subgaussian.
    scales : float or list of float, optional
        Passed to `sample` unchanged.

    Examples
    --------
    >>> import ocucb
    >>> from ocucb.random import uniform
    >>> def coin(mean, scale, stream):
    ...     return mean + (scale if uniform(stream) < 0.5 else -scale)
    >>> ocucb.custom_rewards(coin, [0, -0.3], sigma=1.0)
    <problem means 0, -0.3: 2 arms, coin, sigma=1>
    """
    vector = _vector(means, "means")
    sample = plain(sample)  # it may have been compiled by numba.njit
    if not inspect.isfunction(sample):
        raise TypeError(f"sample must be a plain function, got {shown(sample)}.")
    arguments = tuple(inspect.signature(sample).parameters)
    if arguments != ("mean", "scale", "stream"):
        raise TypeError(
            f"sample must take the arguments mean, scale, stream, in this order, got "
            f"{', '.join(arguments) or 'none'}."
        )
    positive = float(_positive(sigma, "sigma", 1)[0])
    numbers = _vector(scales, "scales", vector.size)
    return Problem(vector, numbers, rewards_of(sample), positive, _list(vector))


def _uniform(means: Numbers, sigma: Numbers | float = 1.0) -> Problem:
    return uniform_rewards(means, gaussian(means, sigma).scales * math.sqrt(3.0))


# From means and, where they take it, sigma: the standard deviation of each arm, or of all.
KINDS: dict[str, Callable[..., Problem]] = {
    "gaussian": gaussian,
    "bernoulli": bernoulli,
    "uniform": _uniform,
}


def takes_sigma(name: str) -> bool:
    """Tell whether rewards of the kind called `name` have a standard deviation to choose.

    >>> takes_sigma("gaussian"), takes_sigma("bernoulli")
    (True, False)
    """
    if name not in KINDS:
        raise ValueError(f"unknown kind of reward {shown(name)}; choose from {', '.join(KINDS)}.")
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
    return replace(gaussian(means, sigma), name=name, paper_horizon=horizon)


def _arms(K: int, least: int = 1) -> int:
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
    K = _arms(K)
    width = float(_vector(gap, "gap", 1)[0])
    if width < 0:
        raise ValueError(f"gap must be at least 0, got {width:g}.")
    means = np.full(K, -width)
    means[0] = 0.0
    return _instance(means, f"gap:K={K},gap={width:g}", sigma, None)


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
    K = _arms(K, least=2)
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
    K = _arms(K)
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
    K = _arms(K, least=2)
    means = np.zeros(K)
    means[:2] = 0.5, 0.5 - 1.0 / K
    return _instance(means, f"conjecture:K={K}", sigma, K**2)


INSTANCES: dict[str, Callable[..., Problem]] = {
    "gap": gap,
    "moss-failure": moss_failure,
    "uniform": uniform_arms,
    "conjecture": conjecture,
}


def parse_problem(text: str, sigma: Numbers | float = 1.0) -> Problem:
    """Return the instance that `text` names, as on the command line.

    Parameters
    ----------
    text : str
        A name and its parameters: ``"gap:K=10,gap=0.3"``.
    sigma : float or list of float, optional
        Standard deviation of the rewards.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.parse_problem("gap:K=10,gap=0.3")
    <problem gap:K=10,gap=0.3: 10 arms, gaussian, sigma=1>
    """
    name, numbers = split_specification(text)
    if name not in INSTANCES:
        raise ValueError(f"unknown problem {shown(name)}; choose from {', '.join(INSTANCES)}.")
    make = INSTANCES[name]
    allowed = [key for key in inspect.signature(make).parameters if key != "sigma"]
    for key in numbers:
        if key not in allowed:
            has = ", ".join(allowed)
            raise ValueError(f"{name!r} has no parameter {shown(key)}; it has {has}.")
    return make(**numbers, sigma=sigma)
