"""Steps that all builds share: their folder, corpus, tables, card and checks.

May import everything below builders. Begin at `build`, then `package`.
"""
