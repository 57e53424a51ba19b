"""Steps that all builds share: folder, corpus, tables, card and checks.

May import everything below builders. Begin at `build`, then `package`.
"""
