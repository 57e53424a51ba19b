"""``citeforge reproduce``: published tables, computed again from published outputs.

Each file of ``tables/`` declares a table: printed numbers, files of outputs, their reader, and
known differences. Reaches the core through ``library``, ``evaluator``, ``builders``,
``ir_convert`` and ``kg``. Begin at `run`.
"""
