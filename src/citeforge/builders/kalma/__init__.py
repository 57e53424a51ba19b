"""Questions that evolve round by round from knowledge-graph triples (Li et al. 2024, KaLMA).

May import the files of `builders` and everything below. Begin at `build`, then `evolve`.
"""
