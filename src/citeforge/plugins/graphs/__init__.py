"""Commands on knowledge graphs: ``citeforge kg profile``, ``snapshot`` and ``link``.

Reaches the core through ``kg``. Begin at `commands`.
"""
