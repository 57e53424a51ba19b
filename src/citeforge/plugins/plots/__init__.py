"""Plots of single queries and answers, and how robust a ranking is (`robustness`)."""
