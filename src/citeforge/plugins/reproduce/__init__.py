"""Published tables, computed again from published outputs: ``citeforge reproduce``.

A table is one file of ``tables/``: what is printed, where the outputs lie, how they are read, and
what is known to differ. Reaches the core through ``library``, ``evaluator``, ``builders``,
``ir_convert`` and ``kg``. Begin at `run`.
"""
