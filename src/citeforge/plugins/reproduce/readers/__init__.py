"""How published files become numbers: one reader a kind of file.

Reaches the core through ``ir_convert`` and ``library``. Begin at `reader`.
"""
