"""Random numbers for kernels: xoshiro256++ words, uniforms and ziggurat normals.

numpy's Generator costs twice as much inside compiled code and cannot be shared by threads. Here a
stream is four words in an array, and every run of a simulation has streams of its own, which
depend on nothing but the simulation's key and the number of the run. So the numbers do not change
with the way in which the runs are cut into blocks or spread over threads and machines.

References
----------
D. Blackman and S. Vigna (2021), Scrambled linear pseudorandom number generators, ACM TOMS 47(4).
G. Marsaglia and W. W. Tsang (2000), The ziggurat method for generating random variables, Journal
of Statistical Software 5(8).
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ._compile import compiled, inlined

Words = npt.NDArray[np.uint64]

REWARDS = np.int64(0)  # stream of the arms' rewards
CHOICES = np.int64(1)  # stream of the policy: ties and randomised choices

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def to_seed(rng: Any) -> int:
    """Turn whatever numpy takes as a source of randomness into one number that can be reported."""
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(11))
    if isinstance(rng, int | np.integer):
        if rng < 0:
            raise ValueError(f"rng must be at least 0, got {rng}.")
        return int(rng)
    try:
        return int(np.random.default_rng(rng).integers(2**53))
    except (TypeError, ValueError):
        raise TypeError(
            f"rng must be a whole number, a numpy Generator or None, got {rng!r}."
        ) from None


def stream_key(seed: int, *facts: object) -> npt.NDArray[np.uint64]:
    """Return the words from which streams start, different for different seeds and facts."""
    digest = hashlib.sha256("\n".join(map(str, facts)).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    state = np.random.SeedSequence([seed, *words]).generate_state(2, np.uint64)
    return state.astype(np.uint64)


@inlined
def _mix(word: np.uint64) -> np.uint64:
    """Scramble one word (the finaliser of splitmix64, a bijection)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def start_stream(state: Words, key: Words, run: int, stream: int | np.int64) -> None:
    """Set `state` to the beginning of a stream of run number `run`.

    Every word of the state mixes both words of the key with the number of the run, so that
    neighbouring runs start at unrelated places of a period of 2^256.
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
    """Return a number from [0, 1), a multiple of 2^-53."""
    return np.int64(word(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def below(state: Words, count: int | np.int64) -> int:
    """Return a whole number from 0 to count - 1, each equally likely (to 1 in 2^53 / count)."""
    return int(uniform(state) * count)


def _ziggurat() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return widths and heights of 256 layers of equal area under exp(-x^2 / 2).

    Layer 0 is the base strip together with the tail beyond `edge[1]`; `edge[i]` falls with i.
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


@compiled
def _normal_outside(state: Words, layer: np.int64, x: float) -> float:
    """Finish the one normal in a hundred whose point fell outside the inner box of its layer."""
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
    """Return a standard normal number (ziggurat with 256 layers)."""
    bits = word(state)
    layer = bits & np.uint64(255)
    x: float = (np.int64(bits) >> 11) * _STEP[layer]
    if abs(x) < _EDGE[layer + np.uint64(1)]:
        return x
    return _normal_outside(state, np.int64(layer), x)


@compiled
def pick(values: npt.NDArray[np.float64], top: float, stream: Words) -> int:
    """Return one of the arms whose value is `top`, all of them equally likely."""
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
def largest(values: npt.NDArray[np.float64], stream: Words) -> int:
    """Return the arm with the largest value, ties broken at random; -1 where a value is nan."""
    best, top, several = -1, -np.inf, False
    for i in range(values.size):
        if values[i] > top:
            best, top, several = i, values[i], False
        elif values[i] == top:
            several = True
        elif values[i] != values[i]:
            return -1
    return pick(values, top, stream) if several else best
