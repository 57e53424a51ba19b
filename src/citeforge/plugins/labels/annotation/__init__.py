"""Human annotation: tasks as declarations, blind export, import with agreement.

Reaches the core through ``package`` and ``builders``. Begin at `sheets`, then `labels`.
"""
