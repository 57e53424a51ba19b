"""Systems that answer benchmarks, declared.

Imports `schemas` alone. Begin at `declaration`, then `listed`.
"""
