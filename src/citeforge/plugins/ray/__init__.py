"""Embeds, searches and judges in a Ray cluster. Begin at `runner`, then `cluster`."""
