"""The arm with the largest index, without evaluating every arm.

Where the index of an unplayed arm does not increase, the value that it had when last evaluated is
an upper bound, its *ceiling*. A tree over blocks of arms holds the highest ceiling of each part.
The arm that owns the highest of all is evaluated afresh; if its index stays above the second
highest ceiling, it is the largest, and if not, its ceiling is lowered and the next arm is
evaluated. An evaluation costs log K.

Rewards with few values (clicks) produce thousands of arms whose ceilings are equal, and all of them
decrease from round to round. So a node knows how many arms share its highest ceiling, and whether
they are alike, with the same pulls, mean and, where the index depends on it, variance: then one
evaluation serves all of them, and they are lowered together by writing the new ceiling into the
node. Its children learn of it on the next way down (`push`), as in the trees known as "segment tree
beats". Arms that have paid every time are alike too, to a KL policy: their index is their mean, 1,
however few pulls they have. A tie is broken by drawing a number and walking down to the arm that
has it.

The tournament tree of `ocucb.engine.skip` stays apart: Gaussian indices do not tie, so its nodes
are single numbers, and an update is a few instructions in the inner loop of a simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from .._compile import compiled, inlined, specialise
from .._memo import cache
from .._types import Floats
from ..engine.run import variance_of

Records = npt.NDArray[np.void]

# What is known about an arm: rewards observed, asks still open, the sum of the rewards and of their
# squared deviations from the mean, not retired.
ARM = np.dtype(
    [("observed", "f8"), ("open", "f8"), ("sum", "f8"), ("squares", "f8"), ("active", "?")],
    align=True,
)

# A node of the tree: the highest ceiling, the highest below that, how many arms have the highest,
# the first of them, and whether they are alike: have the same index in every round.
NODE = np.dtype(
    [("top", "f8"), ("second", "f8"), ("count", "i8"), ("first", "i8"), ("alike", "?")], align=True
)

BLOCK = 32  # arms in a leaf

# Slots, which `tree_kernels` fills.
takes_variance: bool  # the index depends on the variance
above_mean: bool  # the index is never below the mean


def new_tree(arms: int) -> Records:
    """Return a tree over so many arms, to be filled; node i has the children 2 i and 2 i + 1."""
    blocks = -(-arms // BLOCK)
    return np.zeros(2 << (blocks - 1).bit_length() if arms else 0, NODE)


def same_index(arms: Records, i: int, j: int, ceiling: float) -> bool:
    """Tell whether two arms with the same ceiling have the same index in every round.

    They do if they have the same pulls and moments, or if neither index can fall: it would be below
    the mean.
    """
    a, b = arms[i], arms[j]
    same = a.observed + a.open == b.observed + b.open
    if a.observed == 0.0 or b.observed == 0.0:
        return bool(same and a.observed == b.observed)
    mean, other = a.sum / a.observed, b.sum / b.observed
    if above_mean and mean >= ceiling and other >= ceiling:
        return True
    if takes_variance:
        one = variance_of(a.sum, a.observed, a.squares)
        same = same and one == variance_of(b.sum, b.observed, b.squares)
    return bool(same and mean == other)


@inlined
def write_node(
    tree: Records, i: Any, top: float, second: float, count: int, first: int, alike: bool
) -> None:
    """Fill a node of the tree."""
    node = tree[i]
    node.top = top
    node.second = second
    node.count = count
    node.first = first
    node.alike = alike


def join_block(arms: Records, ceilings: Floats, tree: Records, block: int | np.int64) -> None:
    """Fill a leaf of the tree from the ceilings of its arms."""
    top, second, count, first, alike = -inf, -inf, 0, -1, True
    for i in range(block * BLOCK, min((block + 1) * BLOCK, arms.size)):
        ceiling = ceilings[i]
        if ceiling > top:
            top, second, count, first, alike = ceiling, top, 1, i, True
        elif ceiling == top and ceiling > -inf:
            count += 1
            if not same_index(arms, first, i, top):
                alike = False
        elif ceiling > second:
            second = ceiling
    write_node(tree, tree.size // 2 + block, top, second, count, first, alike)


def join(arms: Records, tree: Records, i: int | np.int64) -> None:
    """Fill a node from its children."""
    a, b = tree[2 * i], tree[2 * i + 1]
    if a.top < b.top:
        a, b = b, a
    top, second, count, first, alike = a.top, a.second, a.count, a.first, a.alike
    if b.top < top:
        second = max(second, b.top)
    elif count > 0:
        second = max(second, b.second)
        count += b.count
        if not (b.alike and same_index(arms, first, b.first, top)):
            alike = False
    write_node(tree, i, top, second, count, first, alike)


@compiled
def push(tree: Records, i: int | np.int64) -> None:
    """Tell the children of a node that its highest ceilings were lowered."""
    for child in (2 * i, 2 * i + 1):
        if tree[child].top > tree[i].top:
            tree[child].top = tree[i].top


@compiled
def push_block(ceilings: Floats, tree: Records, block: int | np.int64) -> None:
    """Tell the arms of a leaf that its highest ceilings were lowered."""
    top = tree[tree.size // 2 + block].top
    for i in range(block * BLOCK, min((block + 1) * BLOCK, ceilings.size)):
        if ceilings[i] > top:
            ceilings[i] = top


def build_tree(arms: Records, ceilings: Floats, tree: Records) -> None:
    """Fill the whole tree from the ceilings."""
    leaves = tree.size // 2
    for block in range(leaves):
        join_block(arms, ceilings, tree, block)
    for i in range(leaves - 1, 0, -1):
        join(arms, tree, i)


def replace(
    arms: Records, ceilings: Floats, tree: Records, i: int | np.int64, ceiling: float
) -> None:
    """Set the ceiling of one arm whose state may have changed."""
    block = i // BLOCK
    leaf = tree.size // 2 + block
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


def lower(arms: Records, ceilings: Floats, tree: Records, ceiling: float) -> None:
    """Lower all arms that have the highest ceiling."""
    top = tree[1].top
    leaves = tree.size // 2
    i = 1
    while True:
        if ceiling > tree[i].second:
            tree[i].top = ceiling
        elif i < leaves:
            push(tree, i)
            i *= 2
            if tree[i].top < top:
                i += 1
            continue
        else:
            block = i - leaves
            push_block(ceilings, tree, block)
            for arm in range(block * BLOCK, min((block + 1) * BLOCK, arms.size)):
                if ceilings[arm] == top:
                    ceilings[arm] = ceiling
            join_block(arms, ceilings, tree, block)
        # Over to a sibling that has to be lowered too, or up.
        while i > 1 and not (i % 2 == 0 and tree[i + 1].top == top):
            i >>= 1
            join(arms, tree, i)
        if i == 1:
            return
        i += 1


def highest(ceilings: Floats, tree: Records, number: int) -> int:
    """Return one of the arms with the highest ceiling, by its number among them.

    A child that has not learned of a lowering is above its parent, and belongs to the highest.
    """
    leaves = tree.size // 2
    i = 1
    while i < leaves:
        i *= 2
        if tree[i].top < tree[i >> 1].top:
            i += 1
        elif number >= tree[i].count:
            number -= tree[i].count
            i += 1
    block = i - leaves
    for arm in range(block * BLOCK, min((block + 1) * BLOCK, ceilings.size)):
        if ceilings[arm] >= tree[i].top:
            if number == 0:
                return arm
            number -= 1
    return -1


@cache
def tree_kernels(takes_variance: bool, above_mean: bool) -> dict[str, Callable[..., Any]]:
    """Return what kernels call, compiled once for all policies of which these facts are true."""
    slots: dict[str, Any] = {"takes_variance": takes_variance, "above_mean": above_mean}
    slots["same_index"] = specialise(same_index, slots, part=True, forced=True)
    for helper in (join_block, join):
        slots[helper.__name__] = specialise(helper, slots, part=True)
    parts: tuple[Callable[..., Any], ...] = (build_tree, replace, lower, highest)
    return {part.__name__: specialise(part, slots, keep=True) for part in parts}
