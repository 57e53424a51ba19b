"""Publishing benchmarks: card, Hub, hidden gold, exports. Renders, decides nothing.

May import everything below it. Begin at `hub`, then `card`.
"""
