"""Embeds, searches and judges in a Ray cluster; begin at `runner`, then `cluster`."""
