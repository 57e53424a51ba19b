"""``build alce``: questions with gold and retrieved passages (Gao et al. 2023).

May import everything below builders and `builders`. Begin at `build`, then `contexts`.
"""
