"""Builds of benchmarks from sources: one folder per paper, recipe files, and shared steps.

May import schemas, engines, `ir_convert`, `kg` and `package`. Begin at `rage`, then `build`.
"""
