"""Cut files into passages: `source` lists files, `formats` reads them, `passages` cuts them.

Reaches the core through ``ir_convert``. Begin at `source`.
"""
