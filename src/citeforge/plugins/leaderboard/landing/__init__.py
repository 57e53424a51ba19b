"""What the first page of a benchmark tells a stranger; begin in about.py."""
