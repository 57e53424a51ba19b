"""Systems that papers published: those of ALCE and of Attributed-IR.

Reaches the core through ``systems``, ``builders`` and ``engines``. Begin at `alce` and
`attributed_ir`.
"""
