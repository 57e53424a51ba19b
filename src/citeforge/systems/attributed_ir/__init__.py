"""Attributed-IR's scenarios: generate, retrieve then generate, generate then retrieve."""
