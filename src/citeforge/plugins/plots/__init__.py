"""Plots of single queries and answers: differences, distributions, positions, lengths."""
