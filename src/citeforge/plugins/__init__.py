"""Built-in plugins: what building, publishing and scoring by the five papers can do without.

Each folder stands alone (but `reproduce` uses `labels`), reaches the core as plugins of others do,
and is declared as an entry point. Begin at `training`, the simplest.
"""
