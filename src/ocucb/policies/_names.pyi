# The policies of this folder, for type checkers: `python tests/test_registration.py`
from ._families import PolicyFamily

AOCUCB: PolicyFamily
AdaUCB: PolicyFamily
BayesUCB: PolicyFamily
BernoulliGittins: PolicyFamily
BetaThompson: PolicyFamily
EpsilonGreedy: PolicyFamily
ExploreThenCommit: PolicyFamily
Gittins: PolicyFamily
GittinsApprox: PolicyFamily
Greedy: PolicyFamily
IMED: PolicyFamily
ImprovedUCB: PolicyFamily
KLAdaUCB: PolicyFamily
KLMOSS: PolicyFamily
KLMaillard: PolicyFamily
KLUCB: PolicyFamily
KLUCBHPlus: PolicyFamily
KLUCBPlus: PolicyFamily
KLUCBPlusPlus: PolicyFamily
KLUCBSwitch: PolicyFamily
LightTailed: PolicyFamily
MOSS: PolicyFamily
MOSSAnytime: PolicyFamily
MOTS: PolicyFamily
Maillard: PolicyFamily
OCUCB: PolicyFamily
OCUCBLogLog: PolicyFamily
OCUCBn: PolicyFamily
ThompsonSampling: PolicyFamily
TsallisINF: PolicyFamily
UCB: PolicyFamily
UCBAsymptotic: PolicyFamily
UCBTuned: PolicyFamily
UCBV: PolicyFamily
UniformRandom: PolicyFamily
