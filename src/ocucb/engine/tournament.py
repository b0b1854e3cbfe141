"""A tournament tree of ceilings: the largest of all arms, and updates in log2(K) comparisons.

Node i is the parent of 2 i and 2 i + 1; the leaves, from the number of arms on, are the arms.
"""

from __future__ import annotations

from math import inf

from .._compile import kernel_part
from .._types import Floats


@kernel_part
def raise_tree(tree: Floats) -> None:
    """Fill the tournament tree above its leaves; node i is the parent of 2 i and 2 i + 1."""
    for node in range(tree.size // 2 - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])


@kernel_part
def replace(tree: Floats, arm: int, ceiling: float) -> None:
    """Set the ceiling of one arm."""
    node = tree.size // 2 + arm
    tree[node] = ceiling
    while node > 1:
        node >>= 1
        left, right = tree[2 * node], tree[2 * node + 1]
        top = right if right > left else left
        if tree[node] == top:
            break
        tree[node] = top


@kernel_part
def highest(tree: Floats) -> tuple[int, float]:
    """Return the arm with the highest ceiling, and the highest ceiling of the others."""
    arms = tree.size // 2
    node, second = 1, -inf
    while node < arms:
        node *= 2
        loser = tree[node + 1]
        if loser > tree[node]:
            loser = tree[node]
            node += 1
        if loser > second:
            second = loser
    return node - arms, second


@kernel_part
def highest_other(tree: Floats, arm: int) -> float:
    """Return the highest ceiling of all arms but one."""
    node, top = tree.size // 2 + arm, -inf
    while node > 1:
        if tree[node ^ 1] > top:
            top = tree[node ^ 1]
        node >>= 1
    return top
