"""Built-in plugins: features that builds, publishing and scoring by the five papers do not need.

Each folder stands alone (but `reproduce` uses `labels`), reaches the core as plugins of others do,
and is declared as an entry point. Begin at `training`, the simplest.
"""
