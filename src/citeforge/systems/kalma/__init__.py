"""Systems for KaLMA benchmarks (Li et al. 2023).

May import everything below systems. Begin at `asking`.
"""
