"""The version, in a module that imports nothing: every folder may read it."""

__version__ = "0.1.0"
