"""Clients of experiment trackers, for ``score --log``.

Reach the core through ``publishing.tracking``. Begin at `clients`.
"""
