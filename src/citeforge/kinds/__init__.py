"""Kinds of benchmark, one class per kind.

May import everything below it, inside methods. Begin at `rage`; the base is in `package.kinds`.
"""
