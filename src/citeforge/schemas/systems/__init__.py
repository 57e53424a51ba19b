"""What is declared of systems that answer benchmarks, and how they may be called.

Imports `schemas` alone. Begin at `declaration`.
"""
