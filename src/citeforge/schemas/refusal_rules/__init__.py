"""Expressions that tell refusals, one file a few languages."""
