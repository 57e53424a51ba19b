"""Publishing of benchmarks: card, Hub, hidden gold and exports.

May import everything below it. Begin at `hub`, then `card`.
"""
