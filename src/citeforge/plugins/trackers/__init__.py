"""Clients of experiment trackers, for ``score --log``."""
