"""Computable theory: upper and lower bounds, and the constants and quantities of the proof.

=====================  ==========================================================================
`_quantities`          log⁺, gaps, H and H_i; `Bound`
`_upper`               upper bounds: OCUCB, AOCUCB, UCB, MOSS, improved UCB
`_lower`               lower bounds, and the families of problems they cover
`_constants`           c_γ, c_1 … c_11, C_1(α, ψ), C_2(α, ψ), checked and minimised
`_proof`               δ_T, u_Δ, δ_Δ, k*, δ̃_Δ and β of the proof of theorem 1
`_lemmas`              every lemma's promise beside what simulated runs show
`_counterexample`      section 2.1: where the conjectured bound fails
`_tail`                how likely large regret is: the tail's exponent, and an estimate of it
`_report`              all bounds for one problem, with measured regret beside them
`_figures`             the pictures of the last two
=====================  ==========================================================================

>>> from ocucb import theory
>>> theory.ocucb_shape([0.0, -0.1, -0.5], horizon=1e5).kind
'shape'
"""

from .._docstrings import PLOT, complete
from ._constants import Constants, Constraint, best_constants, c_gamma, constants
from ._counterexample import conjectured, counterexample, necessary, plot_counterexample
from ._lemmas import LemmaCheck, LemmaReport, check_lemmas, failure_events
from ._lower import (
    balanced_constant,
    balanced_family,
    balanced_lower_bound,
    lai_robbins,
    minimax_lower_bound,
    promise_lower_bound,
    thompson_worst_case_shape,
    ucb_worst_case_shape,
    unbalanced_family,
    unbalanced_lower_shape,
)
from ._proof import Proof, proof
from ._quantities import Bound, complexities, complexity, gaps, log_plus
from ._report import DEFAULT_POLICIES, Report, report
from ._tail import tail_estimate, tail_exponent
from ._upper import (
    aocucb_minimax_shape,
    aocucb_shape,
    improved_ucb_bound,
    improved_ucb_minimax_bound,
    moss_bound,
    moss_problem_shape,
    moss_shape,
    ocucb_bound,
    ocucb_minimax_bound,
    ocucb_minimax_shape,
    ocucb_shape,
    ucb_bound,
    ucb_minimax_bound,
    ucb_shape,
)

__all__ = [
    "DEFAULT_POLICIES", "Bound", "Constants", "Constraint", "LemmaCheck", "LemmaReport", "Proof",
    "Report", "aocucb_minimax_shape", "aocucb_shape", "balanced_constant", "balanced_family",
    "balanced_lower_bound", "best_constants", "c_gamma", "check_lemmas", "complexities",
    "complexity", "conjectured", "constants", "counterexample", "failure_events", "gaps",
    "improved_ucb_bound", "improved_ucb_minimax_bound", "lai_robbins", "log_plus",
    "minimax_lower_bound", "moss_bound", "moss_problem_shape", "moss_shape", "necessary",
    "ocucb_bound", "ocucb_minimax_bound", "ocucb_minimax_shape", "ocucb_shape",
    "plot_counterexample", "promise_lower_bound", "proof", "report", "tail_estimate",
    "tail_exponent", "thompson_worst_case_shape", "ucb_bound", "ucb_minimax_bound", "ucb_shape",
    "ucb_worst_case_shape", "unbalanced_family", "unbalanced_lower_shape",
]  # fmt: skip

# Parameters that the docstrings of these functions leave out.
_PARAMETERS = """\
means : list of float
    The arms' expected rewards.
horizon : int
    Rounds, n.
sigma : float
    Rewards are sigma-subgaussian.
K : int
    Number of arms, at least 2.
gap : float
    Δ, above 0.
alpha, psi : float
    The parameters of OCUCB.
given : Constants
    The constants to use; by default the smallest for alpha and psi.
constant : float
    UCB's constant c, above 4.
tight : bool
    False for the paper's proof with its mistakes repaired and nothing else changed.
goal : {"C1", "C2"}
    The constant to minimise.
rng : int, numpy Generator or None
    Seed, as for `numpy.random.default_rng`.
workers : int
    Threads.
"""
complete((globals()[name] for name in __all__ if name.islower()), _PARAMETERS + PLOT)
complete([Report.plot, LemmaReport.plot], PLOT)
