"""Answers of vendors' interfaces, whose citations stand beside the text instead of in it."""
