"""Systems that papers published: those of ALCE, and Attributed-IR's scenarios.

Reaches the core through ``systems``, ``builders`` and ``engines``. Begin at `alce`.
"""
