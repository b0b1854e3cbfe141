"""The version of the package, where both the package and its modules can read it."""

__version__ = "0.1.0"
