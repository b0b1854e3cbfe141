"""One decision at a time, for `ocucb.Bandit`: rewards come from outside, late and in any order.

The kernels have one signature, whatever the policy: its parameters, horizon and sigma, then arrays
that hold the state of play (columns below), then what happened. Nothing else is remembered.

What is decided
---------------
An arm with S rewards ("told") of sum s and with o asks that are still open has made T = S + o
pulls: its index is ``s / S + sigma * bonus(T, t, n, K)``. So an open ask lowers the bonus and
leaves the mean alone. With no open asks this is the rule of the step engine, with the same random
numbers for ties and samples: the same rewards give the same arms. Beyond what the simulator meets:

- arms that were never asked for nor told about come first, in order;
- an arm whose rewards are all outstanding comes after the arms that have one, and among such arms
  one with the fewest open asks comes first (`pending_index`);
- beyond the horizon n, t and T count as n;
- K is the number of arms that are not retired, t - 1 the number of asks and extra rewards so far.

Without looking at all arms
---------------------------
Where the index of an unplayed arm does not rise, what it was when somebody last looked is a
*ceiling*. A tree over blocks of arms holds the highest ceiling of each part: the arm that owns the
highest of all is looked at afresh; if it stays above the second highest, it is the largest, and if
not, its ceiling is lowered and the next one is looked at. A look costs log K.

Rewards of few values (clicks) make thousands of arms whose ceilings are equal, and all of them sink
from round to round. So a node knows how many arms share its highest ceiling, and whether they are
alike, with the same S + o and s / S: then one look is enough for all of them, and they are lowered
together by writing the new ceiling into the node; its children hear of it when somebody passes
(`push`), as in the trees known as "segment tree beats". A tie is broken by drawing a number and
walking down to the arm that has it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from .._compile import compiled, inlined, specialise
from .._types import Counts, Floats, Words
from ..policies._base import PolicyFamily
from ..random import below, normal
from .base import rule_of

# Columns of `arms`, one row for each arm.
TOLD, OPEN, SUM, ACTIVE = 0, 1, 2, 3
# Places in `clock`: asks and extra rewards so far, arms that are not retired, those of them that
# were never played, a place before which there is none of these, and whether all ceilings were
# worked out after each arm had been played.
ROUNDS, ARMS, FRESH, CURSOR, SETTLED = 0, 1, 2, 3, 4
# Columns of `tree`, one row for each node: the highest ceiling, the highest below that, how many
# arms have the highest, the first of them, and whether they are all in the same state.
TOP, SECOND, COUNT, FIRST, ALIKE = 0, 1, 2, 3, 4

BLOCK = 32  # arms in a leaf of the tree

# Declared here, filled in by `specialise`: the policy.
bonus: Callable[..., float]
deviation: Callable[..., float]
choose: Callable[..., int]
unplayed_constant: bool  # the index (or deviation) of an unplayed arm does not change
whole: bool  # the policy counts successes: sums must stay whole numbers

# Parts that use the policy are specialised first, and bound under their own names; this one has
# four forms, `select_lazily` and so on.
select_arm: Callable[..., int]


@inlined
def pending_index(waiting: float) -> float:
    """Return what stands for the index of an arm without a reward: below all, open asks count."""
    return -1e300 - 1e288 * waiting


def current_index(
    values: Any, n: float, sigma: float, arms: Floats, clock: Counts, i: int | np.int64
) -> float:
    """Return an arm's index in the next round."""
    told, waiting = arms[i, TOLD], arms[i, OPEN]
    if told == 0.0:
        return pending_index(waiting)
    t = min(clock[ROUNDS] + 1.0, n)
    K = float(clock[ARMS])
    index: float = arms[i, SUM] / told + sigma * bonus(min(told + waiting, n), t, n, K, *values)
    return index if index != -inf else -1.7e308  # -inf is for arms that are not there


# The tree


@inlined
def same_state(arms: Floats, i: int, j: int) -> bool:
    """Tell whether two arms have the same index in every round: the same pulls and mean."""
    a, b = arms[i, TOLD], arms[j, TOLD]
    if a + arms[i, OPEN] != b + arms[j, OPEN]:
        return False
    if a == 0.0 or b == 0.0:
        return bool(a == b)
    return bool(arms[i, SUM] / a == arms[j, SUM] / b)


@inlined
def write_node(
    tree: Floats, node: Any, top: float, second: float, count: float, first: float, alike: float
) -> None:
    """Fill a row of the tree."""
    tree[node, TOP] = top
    tree[node, SECOND] = second
    tree[node, COUNT] = count
    tree[node, FIRST] = first
    tree[node, ALIKE] = alike


@compiled
def join_block(arms: Floats, ceilings: Floats, tree: Floats, block: int | np.int64) -> None:
    """Fill a leaf of the tree from the ceilings of its arms."""
    top, second, count, first, alike = -inf, -inf, 0.0, -1.0, 1.0
    for i in range(block * BLOCK, min((block + 1) * BLOCK, arms.shape[0])):
        ceiling = ceilings[i]
        if ceiling > top:
            top, second, count, first, alike = ceiling, top, 1.0, float(i), 1.0
        elif ceiling == top and ceiling > -inf:
            count += 1.0
            if not same_state(arms, int(first), i):
                alike = 0.0
        elif ceiling > second:
            second = ceiling
    write_node(tree, tree.shape[0] // 2 + block, top, second, count, first, alike)


@compiled
def join(arms: Floats, tree: Floats, node: int | np.int64) -> None:
    """Fill a node from its children, 2 node and 2 node + 1."""
    a, b = 2 * node, 2 * node + 1
    if tree[a, TOP] < tree[b, TOP]:
        a, b = b, a
    top, second, count = tree[a, TOP], tree[a, SECOND], tree[a, COUNT]
    first, alike = tree[a, FIRST], tree[a, ALIKE]
    if tree[b, TOP] < top:
        second = max(second, tree[b, TOP])
    elif count > 0.0:
        second = max(second, tree[b, SECOND])
        count += tree[b, COUNT]
        if not (tree[b, ALIKE] > 0.0 and same_state(arms, int(first), int(tree[b, FIRST]))):
            alike = 0.0
    write_node(tree, node, top, second, count, first, alike)


@compiled
def push(tree: Floats, node: int | np.int64) -> None:
    """Tell the children of a node that its highest ceilings were lowered."""
    for child in (2 * node, 2 * node + 1):
        if tree[child, TOP] > tree[node, TOP]:
            tree[child, TOP] = tree[node, TOP]


@compiled
def push_block(ceilings: Floats, tree: Floats, block: int | np.int64) -> None:
    """Tell the arms of a leaf that its highest ceilings were lowered."""
    top = tree[tree.shape[0] // 2 + block, TOP]
    for i in range(block * BLOCK, min((block + 1) * BLOCK, ceilings.size)):
        if ceilings[i] > top:
            ceilings[i] = top


def replace(
    arms: Floats, ceilings: Floats, tree: Floats, i: int | np.int64, ceiling: float
) -> None:
    """Set the ceiling of one arm whose state may have changed."""
    block = i // BLOCK
    leaf = tree.shape[0] // 2 + block
    height = 0
    while leaf >> height > 1:
        height += 1
    for above in range(height, 0, -1):
        push(tree, leaf >> above)
    push_block(ceilings, tree, block)
    ceilings[i] = ceiling
    join_block(arms, ceilings, tree, block)
    for above in range(1, height + 1):
        join(arms, tree, leaf >> above)


def lower(arms: Floats, ceilings: Floats, tree: Floats, ceiling: float) -> None:
    """Lower all arms that have the highest ceiling."""
    top = tree[1, TOP]
    leaves = tree.shape[0] // 2
    node = 1
    while True:
        if ceiling > tree[node, SECOND]:
            tree[node, TOP] = ceiling
        elif node < leaves:
            push(tree, node)
            node *= 2
            if tree[node, TOP] < top:
                node += 1
            continue
        else:
            block = node - leaves
            push_block(ceilings, tree, block)
            for i in range(block * BLOCK, min((block + 1) * BLOCK, arms.shape[0])):
                if ceilings[i] == top:
                    ceilings[i] = ceiling
            join_block(arms, ceilings, tree, block)
        # Over to a sister that waits for the same, or up.
        while node > 1 and not (node % 2 == 0 and tree[node + 1, TOP] == top):
            node >>= 1
            join(arms, tree, node)
        if node == 1:
            return
        node += 1


def highest(ceilings: Floats, tree: Floats, number: float) -> int:
    """Return one of the arms with the highest ceiling, by its number among them.

    A child that has not heard of a lowering is above its parent, and belongs to the highest.
    """
    leaves = tree.shape[0] // 2
    node = 1
    while node < leaves:
        node *= 2
        if tree[node, TOP] < tree[node >> 1, TOP]:
            node += 1
        elif number >= tree[node, COUNT]:
            number -= tree[node, COUNT]
            node += 1
    block = node - leaves
    for i in range(block * BLOCK, min((block + 1) * BLOCK, ceilings.size)):
        if ceilings[i] >= tree[node, TOP]:
            if number == 0.0:
                return i
            number -= 1.0
    return -1


# Four ways to elect an arm; all return -1 where the policy gives something that is not a number.


def select_lazily(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
    stream: Words,
    memory: Floats,
) -> int:
    """Return the arm with the largest index, looking at few."""
    while not unplayed_constant:
        top = tree[1, TOP]
        if tree[1, ALIKE] > 0.0:
            fresh = current_index(values, n, sigma, arms, clock, np.int64(tree[1, FIRST]))
            if fresh != fresh:
                return -1
            if fresh > tree[1, SECOND]:
                break
            lower(arms, ceilings, tree, fresh)
        else:
            number = 0.0
            while tree[1, TOP] == top and number < tree[1, COUNT]:
                i = highest(ceilings, tree, number)
                fresh = current_index(values, n, sigma, arms, clock, i)
                if fresh != fresh:
                    return -1
                if fresh < top:
                    replace(arms, ceilings, tree, i, fresh)
                else:
                    number += 1.0
            if tree[1, TOP] == top:
                break
    ties = tree[1, COUNT]
    best = highest(ceilings, tree, float(below(stream, ties)) if ties > 1.0 else 0.0)
    index = current_index(values, n, sigma, arms, clock, best) if tree[1, TOP] == inf else 0.0
    return best if index == index else -1


def select_by_index(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
    stream: Words,
    memory: Floats,
) -> int:
    """Return the arm with the largest index, looking at all."""
    best, top, ties = -1, -inf, 0
    for i in range(arms.shape[0]):
        if arms[i, ACTIVE] > 0.0:
            index = current_index(values, n, sigma, arms, clock, i)
            ceilings[i] = index
            if index > top:
                best, top, ties = i, index, 1
            elif index == top:
                ties += 1
            elif index != index:
                return -1
    if ties > 1:
        number = below(stream, ties)
        for i in range(arms.shape[0]):
            if arms[i, ACTIVE] > 0.0 and ceilings[i] == top:
                if number == 0:
                    return i
                number -= 1
    return best


def select_by_sample(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
    stream: Words,
    memory: Floats,
) -> int:
    """Return the arm with the largest sample."""
    t = min(clock[ROUNDS] + 1.0, n)
    K = float(clock[ARMS])
    best, top = -1, -inf
    for i in range(arms.shape[0]):
        if arms[i, ACTIVE] > 0.0:
            told, waiting = arms[i, TOLD], arms[i, OPEN]
            if told > 0.0:
                spread = sigma * deviation(min(told + waiting, n), t, n, K, *values)
                sample = arms[i, SUM] / told + spread * normal(stream)
            else:
                sample = pending_index(waiting)
            if sample > top:
                best, top = i, sample
    return best


def select_by_choice(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
    stream: Words,
    memory: Floats,
) -> int:
    """Return the arm that the policy names.

    It sees the arms that are not retired, each with all its pulls and with a sum that has the
    mean of the rewards that came: the best mean of all where there are none yet.
    """
    best = -inf
    for i in range(arms.shape[0]):
        if arms[i, ACTIVE] > 0.0 and arms[i, TOLD] > 0.0:
            best = max(best, arms[i, SUM] / arms[i, TOLD])
    if best == -inf:
        best = 0.0
    K = clock[ARMS]
    pulls, sums, places = np.empty(K), np.empty(K), np.empty(K, np.int64)
    k = 0
    for i in range(arms.shape[0]):
        if arms[i, ACTIVE] > 0.0:
            told, waiting = arms[i, TOLD], arms[i, OPEN]
            pulls[k], sums[k], places[k] = told + waiting, arms[i, SUM], i
            if waiting > 0.0:
                sums[k] = (arms[i, SUM] / told if told > 0.0 else best) * pulls[k]
                if whole:
                    sums[k] = np.rint(sums[k])
            k += 1
    before = np.empty(memory.size)
    for j in range(memory.size):  # whole arrays at once would take seconds to compile
        before[j] = memory[j]
    t = min(clock[ROUNDS] + 1.0, n)
    chosen = choose(t, n, pulls, sums, sigma, memory, stream, *values)
    if chosen < 0 or chosen >= K:
        for j in range(memory.size):
            memory[j] = before[j]
        return -1
    return int(places[chosen])


# The kernels


def refresh_all(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
) -> None:
    """Make all ceilings exact and build the tree, where there is one."""
    for i in range(arms.shape[0]):
        ceilings[i] = -inf
        if arms[i, ACTIVE] > 0.0:
            index = current_index(values, n, sigma, arms, clock, i)
            # what is not a number is found out when its turn comes
            ceilings[i] = index if index == index else inf
    leaves = tree.shape[0] // 2
    for block in range(leaves):
        join_block(arms, ceilings, tree, block)
    for node in range(leaves - 1, 0, -1):
        join(arms, tree, node)


def refresh_arm(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
    i: int,
    first: bool,
) -> None:
    """Note that arm i has changed; `first` if it was played for the first time.

    When all arms have been played once, the oldest ceilings are far too high, and one look at all
    of them is cheaper than the many that would follow.
    """
    if first and clock[FRESH] == 0 and clock[SETTLED] == 0:
        clock[SETTLED] = 1
        refresh_all(values, n, sigma, arms, ceilings, tree, clock)
    else:
        index = current_index(values, n, sigma, arms, clock, i)
        replace(arms, ceilings, tree, i, index if index == index else inf)


def ask(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
    stream: Words,
    memory: Floats,
) -> int:
    """Decide which arm to play, and note that its reward is open.

    Returns -1, and leaves the state as it was, where the policy could not choose.
    """
    first = clock[FRESH] > 0
    if first:
        i = int(clock[CURSOR])
        while not (arms[i, ACTIVE] > 0.0 and arms[i, TOLD] + arms[i, OPEN] == 0.0):
            i += 1
        clock[CURSOR] = i
        clock[FRESH] -= 1
    else:
        s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
        i = select_arm(values, n, sigma, arms, ceilings, tree, clock, stream, memory)
        if i < 0:
            stream[0], stream[1], stream[2], stream[3] = s0, s1, s2, s3
            return -1
    arms[i, OPEN] += 1.0
    clock[ROUNDS] += 1
    refresh_arm(values, n, sigma, arms, ceilings, tree, clock, i, first)
    return i


def tell(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
    stream: Words,
    memory: Floats,
    i: int,
    rewards: float,
    reward: float,
) -> None:
    """Close an open ask of an arm with a reward, or without (`rewards` is 1 or 0).

    Where no ask is open, a reward is an extra pull.
    """
    before = arms[i, TOLD] + arms[i, OPEN]
    if arms[i, OPEN] > 0.0:
        arms[i, OPEN] -= 1.0
    else:
        clock[ROUNDS] += 1
    arms[i, TOLD] += rewards
    arms[i, SUM] += reward
    if arms[i, ACTIVE] > 0.0:
        after = arms[i, TOLD] + arms[i, OPEN]
        if before == 0.0:
            clock[FRESH] -= 1
        elif after == 0.0:
            clock[FRESH] += 1
            clock[CURSOR] = min(clock[CURSOR], i)
        refresh_arm(values, n, sigma, arms, ceilings, tree, clock, i, before == 0.0)


def rebuild(
    values: Any,
    n: float,
    sigma: float,
    arms: Floats,
    ceilings: Floats,
    tree: Floats,
    clock: Counts,
    stream: Words,
    memory: Floats,
) -> None:
    """Work out all that follows from `arms` and the number of rounds.

    For an index policy `ceilings` are then the indices in the next round (inf for one that is not a
    number, -inf for a retired arm).
    """
    clock[ARMS] = clock[FRESH] = clock[CURSOR] = clock[SETTLED] = 0
    for i in range(arms.shape[0]):
        if arms[i, ACTIVE] > 0.0:
            clock[ARMS] += 1
            if arms[i, TOLD] + arms[i, OPEN] == 0.0:
                clock[FRESH] += 1
    refresh_all(values, n, sigma, arms, ceilings, tree, clock)


def is_lazy(family: PolicyFamily) -> bool:
    """Tell whether a policy can be played without looking at all arms."""
    return family.kind == "index" and family.unplayed_index in ("nonincreasing", "constant")


def tree_for(family: PolicyFamily, arms: int) -> Floats:
    """Return room for the tree that a policy needs over so many arms."""
    blocks = -(-arms // BLOCK)
    return np.zeros((2 << (blocks - 1).bit_length() if is_lazy(family) else 0, 5))


@functools.cache
def kernels_of(
    family: PolicyFamily,
) -> tuple[Callable[..., int], Callable[..., None], Callable[..., None]]:
    """Return `ask`, `tell` and `rebuild` for a policy, compiled on first use.

    Compiled code is kept on disk if the policy is part of this package.
    """
    functions: dict[str, Any] = {
        "refresh_arm": _do_nothing,
        "unplayed_constant": family.unplayed_index == "constant",
        "whole": family.binary,
    }
    functions.update(_tree_kernels())
    if family.kind == "index":
        functions["bonus"] = rule_of(family)
        functions["current_index"] = specialise(current_index, functions)
        functions["refresh_all"] = specialise(refresh_all, functions)
        way = select_by_index
        if is_lazy(family):
            functions["refresh_arm"] = specialise(refresh_arm, functions)
            way = select_lazily
    elif family.kind == "sampling":
        functions["deviation"] = rule_of(family)
        functions["refresh_all"] = _do_nothing
        way = select_by_sample
    else:
        functions["choose"] = rule_of(family)
        functions["refresh_all"] = _do_nothing
        way = select_by_choice
    functions["select_arm"] = specialise(way, functions)
    kernels = (specialise(template, functions, keep=True) for template in (ask, tell, rebuild))
    return tuple(kernels)  # type: ignore[return-value]


@functools.cache
def _tree_kernels() -> dict[str, Callable[..., Any]]:
    """Compile what is the same for all policies."""
    parts: tuple[Callable[..., Any], ...] = (replace, lower, highest)
    return {part.__name__: specialise(part, {}, keep=True) for part in parts}


@compiled
def _do_nothing(*state: Any) -> None:
    pass
