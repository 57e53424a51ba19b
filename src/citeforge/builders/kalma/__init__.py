"""Questions that evolve round by round from knowledge-graph triples (Li et al. 2024, KaLMA).

May import everything below builders and `builders`. Begin at `build`, then `evolve`.
"""
