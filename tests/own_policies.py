"""Policies as users write them, for the tests of these."""

from __future__ import annotations

import textwrap
from math import inf, log, sqrt

import ocucb

PROBLEM = ocucb.gap(3, 0.5)


def formula(body: str, kind=ocucb.index_policy, space=None, **facts):
    """Return a policy whose function has the given body, in a namespace of its own."""
    arguments = {
        ocucb.index_policy: "pulls, t, horizon, arms",
        ocucb.kl_policy: "pulls, t, horizon, arms",
        ocucb.sampling_policy: "pulls, t, horizon, arms",
        ocucb.choice_policy: "t, horizon, pulls, sums, sigma, memory, stream",
    }[kind]
    space = {"sqrt": sqrt, "log": log, "inf": inf} if space is None else space
    exec(f"def mine({arguments}):\n" + textwrap.indent(body, "    "), space)
    return kind(**facts)(space["mine"])


def play(policy, problem=PROBLEM, **more):
    """Return the mean regret of a short simulation."""
    return ocucb.simulate(policy, problem, 200, 100, rng=1, **more)[0].mean_regret
