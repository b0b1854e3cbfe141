"""``python -m ocucb`` is the same as ``ocucb``."""

from .cli import main

main()
