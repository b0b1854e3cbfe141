"""Arms with features: expected rewards are <theta, x>.

`linear` makes a problem of features and theta; `unit_vectors`, `sphere` and `end_of_optimism` are
instances. Features that are drawn anew in each round come from `contexts`, or from `data`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ._compile import translate_numba_errors
from ._text import shown, to_count, to_float, to_floats
from ._types import Floats
from ._users import plain
from ._vectors import Numbers, to_positive
from .problems import Problem, gap, gaussian, to_arms
from .random import REWARDS, start_stream, stream_key
from .rewards import rewards_in_contexts, rewards_of_rows

MOST_FEATURES = 1000
_LARGEST = 1e6  # entry of a feature vector
PLACE = f"between {-_LARGEST:g} and {_LARGEST:g}"


def to_matrix(values: Any, what: str) -> Floats:
    """Return finite numbers as a matrix, or say what is wrong with them."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be rows of numbers, got {shown(values)}.") from None
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{what} must have rows and columns, got shape {array.shape}.")
    if array.shape[1] > MOST_FEATURES:
        raise ValueError(f"{what} must have at most {MOST_FEATURES} columns, got {array.shape[1]}.")
    for i, j in np.argwhere(~(np.abs(array) <= _LARGEST))[:1]:
        raise ValueError(f"{what} must lie {PLACE}, got {array[i, j]:g} in row {i + 1}; rescale.")
    return array


def to_weights(values: Any, what: str, size: int) -> Floats:
    """Return as many finite numbers as there are features."""
    vector = np.atleast_1d(to_floats(values, what, PLACE))
    if vector.shape != (size,):
        got = vector.size if vector.ndim == 1 else f"shape {vector.shape}"
        raise ValueError(f"{what} must have a number for each of {size} features, got {got}.")
    for value in vector[~(np.abs(vector) <= _LARGEST)]:
        raise ValueError(f"{what} must lie {PLACE}, got {value:g}.")
    return vector


def linear(features: Any, theta: Numbers, sigma: Numbers | float = 1.0) -> Problem:
    """Arms with features x, whose rewards are normal with mean <theta, x>.

    The features stay the same in all rounds. Policies for arms with features are told them, but not
    theta; other policies are not told.

    Parameters
    ----------
    features : array
        A row of numbers for each arm.
    theta : list of float
        As many numbers.
    sigma : float or list of float, optional
        Standard deviation of the rewards, as for `gaussian`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import ocucb
    >>> problem = ocucb.linear([[1, 0], [0.8, 0.6], [0, 1]], theta=[1, 0.5])
    >>> problem.means
    array([1. , 1.1, 0.5])
    >>> result = ocucb.simulate("lin-ocucb", problem, 1000, runs=100, rng=1)
    """
    matrix = to_matrix(features, "features")
    weights = to_weights(theta, "theta", matrix.shape[1])
    problem = gaussian((matrix * weights).sum(axis=1), sigma)
    K, d = matrix.shape
    return replace(problem, features=matrix, name=f"linear, {K} arms, {d} features")


def _instance(features: Floats, theta: Floats, name: str, sigma: Numbers | float) -> Problem:
    return replace(linear(features, theta, sigma), name=name)


def unit_vectors(K: int = 10, gap: float = 0.3, sigma: Numbers | float = 1.0) -> Problem:
    """The problem of `ocucb.gap`, with unit vectors as features: there is nothing to generalise.

    Parameters
    ----------
    K, gap, sigma : optional
        As for `ocucb.gap`; at most 1000 arms.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.unit_vectors(K=3, gap=0.5)
    <problem unit-vectors:K=3,gap=0.5: 3 arms, gaussian, sigma=1, 3 features>
    """
    plain = _gap(K, gap, sigma)
    if plain.arms > MOST_FEATURES:
        raise ValueError(f"K must be at most {MOST_FEATURES}, got {plain.arms}.")
    width = plain.largest_gap
    name = f"unit-vectors:K={plain.arms},gap={width:g}"
    return replace(plain, features=np.eye(plain.arms), name=name)


_gap = gap


def sphere(d: int = 5, K: int = 20, seed: int = 1, sigma: Numbers | float = 1.0) -> Problem:
    """Random actions, and a random theta, on the unit sphere.

    Parameters
    ----------
    d : int, optional
        Number of features.
    K : int, optional
        Number of arms.
    seed : int, optional
        Which of these problems.
    sigma : float or list of float, optional
        Standard deviation of the rewards.

    Examples
    --------
    >>> import ocucb
    >>> problem = ocucb.sphere(d=2, K=3)
    >>> problem.features.round(3)
    array([[-0.209,  0.978],
           [-0.15 ,  0.989],
           [ 0.843, -0.538]])
    >>> problem.means.round(3)
    array([ 0.244,  0.186, -0.861])
    """
    d, K, seed = to_count(d, "d"), to_arms(K), to_count(seed, "seed", 0)
    if d > MOST_FEATURES:
        raise ValueError(f"d must be at most {MOST_FEATURES}, got {d}.")
    rng = np.random.default_rng([seed, d, K])
    points = rng.standard_normal((K + 1, d))
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    name = f"sphere:d={d},K={K},seed={seed}"
    return _instance(points[:K].copy(), points[K], name, sigma)


def end_of_optimism(
    epsilon: float = 0.01, reach: float = 8.0, sigma: Numbers | float = 1.0
) -> Problem:
    """Actions (1, 0), (0, 1) and (1 - epsilon, reach * epsilon) with theta = (1, 0).

    To tell the first from the third, the second is worth its cost, since its features tell them
    apart best; but optimistic policies soon stop playing it, and so pay far more. See Lattimore and
    Szepesvári (2017), The end of optimism?

    Parameters
    ----------
    epsilon : float, optional
        How much worse the third is, between 0 and 1.
    reach : float, optional
        How far it leans towards the second, above 0.
    sigma : float or list of float, optional
        Standard deviation of the rewards.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.end_of_optimism().means
    array([1.  , 0.  , 0.99])
    """
    epsilon, reach = to_float(epsilon, "epsilon"), to_float(reach, "reach")
    if not 0.0 < epsilon < 1.0:
        raise ValueError(f"epsilon must lie between 0 and 1, got {epsilon:g}.")
    if not 0.0 < reach <= 1e3 or not math.isfinite(reach):
        raise ValueError(f"reach must be above 0 and at most 1000, got {reach:g}.")
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0 - epsilon, reach * epsilon]])
    name = f"end-of-optimism:epsilon={epsilon:g},reach={reach:g}"
    return _instance(features, np.array([1.0, 0.0]), name, sigma)


def contexts(
    theta: Any,
    arms: int | None = None,
    sigma: Numbers | float = 1.0,
    *,
    draw: Callable[..., None] | None = None,
) -> Problem:
    """Arms with features x that are drawn anew in each round; rewards have the mean <theta, x>.

    Rewards are normal, and regret is what is lost to the best arm of each round.

    Parameters
    ----------
    theta : array
        A list of numbers: each round brings a feature vector for each of `arms` arms. Or a row of
        numbers for each arm: each round brings one context, and each arm has its own theta.
    arms : int, optional
        Number of arms, if theta is a list.
    sigma : float or list of float, optional
        Standard deviation of the rewards.
    draw : callable, optional
        ``draw(features, t, stream)`` writes the features of round t, counted from 1: an array with
        a row for each arm, or with a single row, the context. It is compiled by numba; randomness
        comes from `ocucb.random`. By default, each row is drawn from the unit sphere.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import ocucb
    >>> ocucb.contexts([1, 0, 0], arms=10)
    <problem contexts, 10 arms, 3 features: 10 arms, gaussian (contexts), sigma=1, 3 features>
    >>> problem = ocucb.contexts([[1, 0], [0, 1], [-1, 0]])
    >>> result = ocucb.simulate("lin-ocucb", problem, 1000, runs=100, rng=1)
    """
    if np.ndim(theta) == 2:
        table = to_matrix(theta, "theta")
        if arms not in (None, table.shape[0]):
            raise ValueError(f"arms must be the rows of theta, {table.shape[0]}, got {arms}.")
        (K, d), rounds = table.shape, "disjoint"
        features = np.zeros((1, d))
    else:
        if arms is None:
            raise TypeError("arms is missing: how many feature vectors each round brings.")
        K = to_arms(arms)
        table = to_weights(theta, "theta", np.size(theta))
        d, rounds = table.size, "shared"
        features = np.zeros((K, d))
    if draw is not None:
        _check_drawing(draw)
    scales = to_positive(sigma, "sigma", K)
    kind = rewards_in_contexts(None if draw is None else plain(draw), rounds)
    problem = Problem(
        *(np.zeros(K), scales, kind, float(scales.max()), f"contexts, {K} arms, {d} features"),
        table=np.ravel(table).copy(),
        features=features,
    )
    return replace(problem, reach=_reach(problem))


def _check_drawing(draw: Any) -> None:
    """Refuse what is no function of features and a stream."""
    function = plain(draw)
    if not inspect.isfunction(function):
        raise TypeError(f"draw must be a plain function, got {shown(draw)}.")
    arguments = tuple(inspect.signature(function).parameters)
    if arguments != ("features", "t", "stream"):
        given = ", ".join(arguments) or "none"
        raise TypeError(f"draw must take the arguments features, t, stream, got {given}.")


def _reach(problem: Problem) -> float:
    """Return the largest loss in a thousand rounds."""
    draw, rng = problem.rewards.code.compiled["contexts"], np.zeros(4, np.uint64)
    start_stream(rng, stream_key(0, "contexts"), 0, REWARDS)
    theta, x = problem.table.reshape(-1, problem.features.shape[1]), problem.features.copy()
    most = 0.0
    with translate_numba_errors("draw"):
        for t in range(1, 1001):
            draw(x, float(t), rng)
            if not (np.abs(x) <= _LARGEST).all():
                raise ValueError(
                    f"draw must write features {PLACE}, got {x.flat[np.abs(x).argmax()]:g}."
                )
            means = (x * theta).sum(axis=1)
            most = max(most, float(means.max() - means.min()))
    return most


def data(features: Any, rewards: Any) -> Problem:
    """Rounds that are rows of a data set, drawn with replacement: a context, and what arms pay.

    Labels, whole numbers from 0 to K - 1, are rewards of 1 for the right arm and 0 for others. If
    all rewards lie in [0, 1], sigma is 1/2; otherwise it is half the distance between the
    smallest and the largest.

    Parameters
    ----------
    features : array
        A row of numbers for each round.
    rewards : array
        What each arm pays in that round, a row of numbers; or a list of labels.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import ocucb
    >>> ocucb.data([[1, 0.2], [1, 0.9], [1, 0.4]], [[1, 0], [0, 1], [1, 0]])
    <problem data, 3 rows: 2 arms, data, sigma=0.5, 2 features>
    """
    x = to_matrix(features, "features")
    if np.ndim(rewards) == 1:
        labels = to_floats(rewards, "rewards")
        for label in labels[(labels < 0) | (labels != np.floor(labels)) | (labels > 1e4)]:
            raise ValueError(f"labels must be whole numbers from 0 to 10000, got {label:g}.")
        rewards = np.eye(int(labels.max()) + 1)[labels.astype(int)]
    paid = to_matrix(rewards, "rewards")
    if len(paid) != len(x):
        raise ValueError(f"features have {len(x)} rows, but rewards {len(paid)}.")
    low, high = float(paid.min()), float(paid.max())
    if low == high:
        raise ValueError(f"rewards must not all be the same, got {low:g} everywhere.")
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    K = paid.shape[1]
    return Problem(
        *(np.zeros(K), np.ones(K), rewards_of_rows(low, high), (high - low) / 2),
        f"data, {len(x)} rows",
        table=np.ravel(np.concatenate([x, paid], axis=1)).copy(),
        features=np.zeros((1, x.shape[1])),
        reach=float((paid.max(axis=1) - paid.min(axis=1)).max()),
    )
