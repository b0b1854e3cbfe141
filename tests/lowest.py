"""Print the lowest version of every package that pyproject.toml gives a bound for.

Lines are constraints for pip: `numba>=0.60` there is `numba==0.60` here, which means 0.60.0.
"""

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

content = tomllib.loads(Path(sys.argv[1]).read_text())
project = content["project"]
declared = [
    *content["build-system"]["requires"],
    *project["dependencies"],
    *(line for extra in project["optional-dependencies"].values() for line in extra),
]
for requirement in map(Requirement, declared):
    for bound in requirement.specifier:
        if bound.operator == ">=":
            print(f"{requirement.name}=={bound.version}")
