"""Human annotation: tasks as declarations, blind export, import with agreement."""
