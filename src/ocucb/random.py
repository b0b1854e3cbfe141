"""Random numbers for kernels: xoshiro256++ words, uniforms, ziggurat normals, binomials, betas.

numpy's Generator is twice as slow inside compiled code and cannot be shared between threads. Here a
stream is an array of four words, and every run of a simulation has its own streams, which
depend only on the simulation's key and the run's index. So the numbers do not depend on
how runs are split into blocks or distributed over threads and machines.

References
----------
D. Blackman and S. Vigna (2021), Scrambled linear pseudorandom number generators, ACM TOMS 47(4).
G. Marsaglia and W. W. Tsang (2000), The ziggurat method for generating random variables, Journal
of Statistical Software 5(8).
G. Marsaglia and W. W. Tsang (2000), A simple method for generating gamma variables, ACM TOMS 26(3).
W. Hörmann (1993), The generation of binomial random variates, Journal of Statistical Computation
and Simulation 46.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np

from ._compile import compiled, inlined, kernel_part, rare_part
from ._docstrings import complete
from ._text import MOST_DIGITS, is_truth, shown
from ._types import Floats, Words

REWARDS = np.int64(0)  # stream of the arms' rewards
CHOICES = np.int64(1)  # stream of the policy: tie-breaking and randomised choices
PROBLEMS = np.int64(0)  # stream of the run's problem, where one is drawn: its key is another

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def to_seed(rng: Any) -> int:
    """Turn whatever numpy takes as a source of randomness into one number that can be reported."""
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(11))
    if isinstance(rng, int | np.integer) and not is_truth(rng):
        if rng < 0:
            raise ValueError(f"rng must be at least 0, got {shown(rng)}.")
        if rng >= 10**MOST_DIGITS:  # it could not be reported
            raise ValueError(f"rng must have at most {MOST_DIGITS} digits, got {shown(rng)}.")
        return int(rng)
    return int(to_generator(rng).integers(2**53))


def to_generator(rng: Any) -> np.random.Generator:
    """Return numpy's generator for whatever numpy takes as a source of randomness."""
    try:
        if is_truth(rng):
            raise TypeError
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise TypeError(
            f"rng must be a whole number, a numpy Generator or None, got {shown(rng)}."
        ) from None


def stream_key(seed: int, *facts: object) -> Words:
    """Return the words from which streams start, different for different seeds and facts."""
    digest = hashlib.sha256("\n".join(map(str, facts)).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    state = np.random.SeedSequence([seed, *words]).generate_state(2, np.uint64)
    return state.astype(np.uint64)


@kernel_part
def _mix(word: np.uint64) -> np.uint64:
    """Scramble one word (the finaliser of splitmix64, a bijection)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def start_stream(state: Words, key: Words, run: int, stream: int | np.int64) -> None:
    """Set `state` to the start of a stream of run number `run`.

    Every word of the state mixes both words of the key with the run number, so neighbouring
    runs start at unrelated points of a period of 2^256.
    """
    place = _mix(key[0] + np.uint64(2 * run + stream) * _GOLDEN)
    for i in range(4):
        place += _GOLDEN
        state[i] = _mix(place ^ key[1])


@inlined
def word(state: Words) -> np.uint64:
    """Return the next 64 random bits (xoshiro256++)."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    total = s0 + s3
    answer: np.uint64 = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    state[0] = s0
    state[1] = s1
    state[2] = s2 ^ shifted
    state[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return answer


@inlined
def uniform(state: Words) -> float:
    """Return a uniform number in [0, 1), a multiple of 2^-53.

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb.random import uniform
    >>> stream = np.random.SeedSequence(1).generate_state(4, np.uint64)
    >>> [round(uniform(stream), 4) for _ in range(3)]
    [0.7821, 0.6724, 0.4796]
    """
    return np.int64(word(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def below(state: Words, count: int | np.int64) -> int:
    """Return a whole number from 0 to count - 1, each with probability 1 / count to within 2^-53.

    Parameters
    ----------
    count : int
        How many numbers there are to choose from, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb.random import below
    >>> stream = np.random.SeedSequence(1).generate_state(4, np.uint64)
    >>> [below(stream, 6) for _ in range(8)]
    [4, 4, 2, 3, 2, 3, 1, 4]
    """
    return int(uniform(state) * count)


def _ziggurat() -> tuple[Floats, Floats]:
    """Return widths and heights of 256 layers of equal area under exp(-x^2 / 2).

    Layer 0 is the base strip plus the tail beyond `edge[1]`; `edge[i]` decreases with i.
    """
    layers = 256
    tail, area = 3.6541528853610088, 0.00492867323399
    edge = np.empty(layers + 1)
    edge[0] = area / math.exp(-0.5 * tail * tail)
    edge[1] = tail
    for i in range(1, layers - 1):
        edge[i + 1] = math.sqrt(-2 * math.log(area / edge[i] + math.exp(-0.5 * edge[i] ** 2)))
    edge[layers] = 0.0
    height = np.exp(-0.5 * edge * edge)
    return edge, height


_EDGE, _HEIGHT = _ziggurat()
_STEP = _EDGE[:-1] * 2.0**-52  # width of a layer in units of a signed 53-bit number
_TAIL = float(_EDGE[1])


@rare_part
def _normal_outside(state: Words, layer: np.int64, x: float) -> float:
    """Finish the one normal in a hundred whose point falls outside the inner box of its layer."""
    while True:
        if layer == 0:
            while True:  # the tail beyond the last edge, by Marsaglia's method
                beyond = -math.log1p(-uniform(state)) / _TAIL
                if -2.0 * math.log1p(-uniform(state)) > beyond * beyond:
                    return _TAIL + beyond if x > 0.0 else -_TAIL - beyond
        height = _HEIGHT[layer] + uniform(state) * (_HEIGHT[layer + 1] - _HEIGHT[layer])
        if height < math.exp(-0.5 * x * x):
            return x
        bits = word(state)
        layer = np.int64(bits & np.uint64(255))
        x = (np.int64(bits) >> 11) * _STEP[layer]
        if abs(x) < _EDGE[layer + 1]:
            return x


@inlined
def normal(state: Words) -> float:
    """Return a standard normal variate (ziggurat with 256 layers).

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb.random import normal
    >>> stream = np.random.SeedSequence(1).generate_state(4, np.uint64)
    >>> [round(normal(stream), 4) for _ in range(3)]
    [-0.3764, -0.8654, 0.9777]
    """
    bits = word(state)
    layer = bits & np.uint64(255)
    x: float = (np.int64(bits) >> 11) * _STEP[layer]
    if abs(x) < _EDGE[layer + np.uint64(1)]:
        return x
    return _normal_outside(state, np.int64(layer), x)


@inlined
def ones(bits: np.uint64) -> float:
    """Return how many bits are set."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    bits = (bits & pairs) + ((bits >> np.uint64(2)) & pairs)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return float(np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@inlined
def coins(state: Words, count: float, p: float) -> np.uint64:
    """Toss up to 64 coins that show 1 with probability p; return them as the lowest bits of a word.

    Each is the comparison of a uniform number with p, made for all of them at once and bit by
    bit: a coin is decided at the first bit in which the two differ.
    """
    open_ = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64.0 - count)
    if p >= 1.0:
        return open_
    rest = np.uint64(math.ceil(p * 9007199254740992.0)) << np.uint64(11)
    heads = np.uint64(0)
    while open_ != 0 and rest != 0:
        bits = word(state)
        if rest >> np.uint64(63) != 0:
            heads |= open_ & ~bits
            open_ &= bits
        else:
            open_ &= ~bits
        rest <<= np.uint64(1)
    return heads


# log(k!) minus Stirling's formula in k + 1, for the first few k
_TAILS = np.array(
    [math.lgamma(k) - (k - 0.5) * math.log(k) + k - 0.9189385332046728 for k in range(1, 11)]
)


@kernel_part
def _stirling_tail(k: float) -> float:
    """Return log(k!) minus Stirling's formula in k + 1."""
    if k < 10.0:
        return float(_TAILS[np.int64(k)])
    k += 1.0
    square = 1.0 / (k * k)
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - square / 1680.0) * square) * square) / k


@rare_part
def _binomial_by_inversion(state: Words, count: float, p: float) -> float:
    """Return a binomial variate by inversion; for p <= 1/2 and count * p < 10."""
    odds = p / (1.0 - p)
    while True:
        place = uniform(state)
        share = math.exp(count * math.log1p(-p))
        k = 0.0
        while place >= share and k < count:
            place -= share
            k += 1.0
            share *= odds * (count - k + 1.0) / k
            if k > 110.0:  # only through rounding
                break
        if k <= 110.0:
            return k


@rare_part
def _binomial_by_rejection(state: Words, count: float, p: float) -> float:
    """Return a binomial variate by Hörmann's BTRS; for p <= 1/2 and count * p >= 10.

    The ratio of the density to that at the mode is computed from terms no larger than the distance
    from the mode, so counts of 10^15 lose no digits.
    """
    odds = p / (1.0 - p)
    spread = math.sqrt(count * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = count * p + 0.5
    alpha = (2.83 + 5.1 / b) * spread
    easy = 0.92 - 4.2 / b
    mode = math.floor((count + 1.0) * p)
    base = slope = math.nan  # not needed by six in seven
    while True:
        u = uniform(state) - 0.5
        v = 1.0 - uniform(state)
        us = 0.5 - abs(u)
        if us == 0.0:
            continue
        k = math.floor((2.0 * a / us + b) * u + centre)
        if us >= 0.07 and v <= easy:
            return k
        if k < 0.0 or k > count:
            continue
        if base != base:
            base = _stirling_tail(mode) + _stirling_tail(count - mode)
            slope = math.log((mode + 1.0) / (odds * (count - mode + 1.0)))
        far = mode - k
        bound = (
            (count + 1.0) * math.log1p(-far / (count - k + 1.0))
            + (k + 0.5) * (math.log1p(far / (k + 1.0)) + math.log1p(far / (count - mode + 1.0)))
            + far * slope
            + base
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


@compiled
def binomial(state: Words, count: float, p: float) -> float:
    """Return the number of successes in `count` trials that each succeed with probability p.

    Parameters
    ----------
    count : float
        Number of trials, a whole number.
    p : float
        Probability of success, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb.random import binomial
    >>> stream = np.random.SeedSequence(1).generate_state(4, np.uint64)
    >>> [binomial(stream, 100.0, 0.3) for _ in range(4)]
    [34.0, 30.0, 29.0, 26.0]
    """
    rare = min(p, 1.0 - p)
    if rare <= 0.0 or count <= 0.0:
        k = 0.0
    elif count * rare < 10.0:
        k = _binomial_by_inversion(state, count, rare)
    else:
        k = _binomial_by_rejection(state, count, rare)
    return count - k if p > 0.5 else k


@compiled
def gamma(state: Words, shape: float) -> float:
    """Return a gamma variate with scale 1, whose mean and variance are `shape`.

    Parameters
    ----------
    shape : float
        At least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb.random import gamma
    >>> stream = np.random.SeedSequence(1).generate_state(4, np.uint64)
    >>> [round(gamma(stream, 2.0), 4) for _ in range(3)]
    [1.2265, 3.2743, 3.2173]
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(state)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if math.log1p(-uniform(state)) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return d * v


@compiled
def beta(state: Words, a: float, b: float) -> float:
    """Return a beta variate, a number in (0, 1) with mean a / (a + b).

    Parameters
    ----------
    a, b : float
        Both at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb.random import beta
    >>> stream = np.random.SeedSequence(1).generate_state(4, np.uint64)
    >>> [round(beta(stream, 2.0, 3.0), 4) for _ in range(3)]
    [0.2104, 0.4247, 0.2728]
    """
    x = gamma(state, a)
    return x / (x + gamma(state, b))


@compiled
def proportional(weights: Floats, stream: Words) -> int:
    """Return an arm with probability proportional to its weight.

    If the sum of the weights is nan, infinite or 0, return -1.

    Parameters
    ----------
    weights : float64 array
        One weight per arm, at least 0 and not all 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb.random import proportional
    >>> stream = np.random.SeedSequence(1).generate_state(4, np.uint64)
    >>> [proportional(np.array([1.0, 0.0, 3.0]), stream) for _ in range(8)]
    [2, 2, 2, 2, 2, 2, 0, 2]
    """
    total = 0.0
    for i in range(weights.size):
        total += weights[i]
    if not 0.0 < total < np.inf:
        return -1
    place = uniform(stream) * total
    last = -1
    for i in range(weights.size):
        if weights[i] > 0.0:
            last = i
            place -= weights[i]
            if place < 0.0:
                break
    return last


@compiled
def pick(values: Floats, top: float, stream: Words) -> int:
    """Return one of the arms whose value is `top`, uniformly at random."""
    ties = np.int64(0)
    for i in range(values.size):
        if values[i] == top:
            ties += 1
    chosen = below(stream, ties) if ties > 1 else 0
    for i in range(values.size):
        if values[i] == top:
            if chosen == 0:
                return i
            chosen -= 1
    return -1


@inlined
def largest(values: Floats, stream: Words) -> int:
    """Return the arm with the largest value, breaking ties at random; -1 if a value is nan.

    Parameters
    ----------
    values : float64 array
        One value per arm.

    Examples
    --------
    >>> import numpy as np
    >>> from ocucb.random import largest
    >>> stream = np.random.SeedSequence(1).generate_state(4, np.uint64)
    >>> [largest(np.array([1.0, 5.0, 5.0]), stream) for _ in range(8)]
    [2, 2, 1, 2, 1, 2, 1, 2]
    """
    best, top, several = -1, -np.inf, False
    for i in range(values.size):
        if values[i] > top:
            best, top, several = i, values[i], False
        elif values[i] == top:
            several = True
        elif values[i] != values[i]:
            return -1
    return pick(values, top, stream) if several else best


# A parameter that the docstrings of these functions leave out, under both of its names.
_STREAM = """uint64 array
    The stream: four words, which the call advances. A policy passes its own."""
complete(
    [uniform, below, normal, binomial, gamma, beta, proportional, largest],
    f"state : {_STREAM}\nstream : {_STREAM}",
)
