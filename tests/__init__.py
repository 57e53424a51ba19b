"""A package of its own: distributions that install a module called `tests` do not hide it."""
