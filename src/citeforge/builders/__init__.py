"""From sources to benchmarks: a folder per paper, recipes as files, and what all builds share.

May import schemas, engines, `ir_convert`, `kg` and `package`. Begin at `rage`, then `build`.
"""
