"""``build alce``: questions with gold and retrieved passages (Gao et al. 2023).

May import the files of `builders` and everything below. Begin at `build`, then `contexts`.
"""
