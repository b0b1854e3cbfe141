"""Compiled code on disk: one file per function and signature.

A folder is named after the sources that compiled code is made from, the versions of Python and
numba, and the processor; a file, after the function with everything bound into it (see `_compile`)
and its signature. So a given file can only ever hold one thing: concurrent processes write the same
content, and nothing goes stale.
A process whose sources changed under it no longer knows which version it is, and leaves the folder
alone. A damaged or unreadable file costs a recompilation and nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from platformdirs import user_cache_path

from ._cache_files import read_cache_file, surroundings, version_folder, write_cache_file

# Numba settings that change the generated code.
_SETTINGS = (
    "BOUNDSCHECK",
    "CPU_FEATURES",
    "CPU_NAME",
    "DEBUGINFO_DEFAULT",
    "ENABLE_AVX",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USING_SVML",
)

# Rooms of the package without kernels: a change to one of them recompiles nothing. That no kernel
# is made in them, and that nothing else imports them, is tested with the layers.
NO_KERNELS = frozenset(
    [
        *("figures", "results", "specification", "store", "scheduler", "progress", "simulation"),
        *(
            "tracing",
            "tuning",
            "sweeps",
            "testing",
            "theory",
            "reports",
            "paper",
            "league",
            "planning",
        ),
        *("serve", "lab", "cli"),
        "__main__",
    ]
)


class CodeCache(_Cache):  # type: ignore[misc]
    """Where numba looks for the compiled forms of one function.

    Parameters
    ----------
    name : str
        A name unique within this version of the package.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def cache_path(self) -> str:
        return str(folder())

    def load_overload(self, signature: Any, target_context: Any) -> CompileResult | None:
        target_context.refresh()
        found = read_cache_file(*self._place(signature)) if _stamps() == _LOADED else None
        return (
            None if found is None else CompileResult._rebuild(target_context, *pickle.loads(found))
        )

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        cachable = not (result.lifted or result.library.has_dynamic_globals)
        if cachable and _stamps() == _LOADED:
            write_cache_file(*self._place(signature), dumps(result._reduce()))

    def _place(self, signature: Any) -> tuple[Path, str]:
        name = f"{self._name}{signature}"
        file = f"{self._name.rpartition('.')[2]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        return folder() / file, name

    def enable(self) -> None:
        """Do nothing: the cache is always enabled, but numba requires the method."""

    def disable(self) -> None:
        """Do nothing: the cache is always enabled, but numba requires the method."""

    def flush(self) -> None:
        """Do nothing: no file goes stale, but numba requires the method."""


def folder() -> Path:
    """Return the folder for the compiled code of this version of the package."""
    chosen = numba.config.CACHE_DIR  # the environment variable NUMBA_CACHE_DIR
    root = Path(chosen, "ocucb") if chosen else user_cache_path("ocucb")
    return version_folder(root / "compiled", _fingerprint())


def _stamps() -> dict[Path, tuple[int, int]]:
    """Return our sources as they are on disk now, each with its size and the time of its change."""
    found = {path: path.stat() for path in sorted(_HOME.rglob("*.py")) if _matters(path)}
    return {path: (one.st_size, one.st_mtime_ns) for path, one in found.items()}


def _matters(path: Path) -> bool:
    return path.relative_to(_HOME).parts[0].removesuffix(".py") not in NO_KERNELS


_HOME = Path(__file__).parent
_LOADED = _stamps()  # the sources that this process runs: it has imported them or is about to


@functools.cache
def _fingerprint() -> str:
    """Name everything that compiled code depends on besides the function itself."""
    digest = hashlib.sha256(surroundings().encode())
    for path, (size, _) in _LOADED.items():
        digest.update(f"{path.relative_to(_HOME)} {size}\n".encode())
        digest.update(path.read_bytes())
    settings = [f"{name}={getattr(numba.config, name, None)}" for name in _SETTINGS]
    digest.update("\n".join(settings).encode())
    return digest.hexdigest()[:16]
