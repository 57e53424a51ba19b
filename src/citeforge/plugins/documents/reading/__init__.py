"""Files to passages: `source` finds files and joins passages, `formats` reads, `passages` cuts.

Reaches the core through ``ir_convert``. Begin at `source`.
"""
