"""Built-in plugins: what building, publishing and scoring by the five papers can do without.

Each folder stands alone and is declared as an entry point, as plugins of others are.
"""
