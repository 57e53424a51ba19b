"""Runs all benchmarks: `python -m benchmarks [NAME…]`."""

import sys
from importlib import import_module

NAMES = ("convert", "mine", "embed", "cache", "score", "llm", "judge", "evaluate", "kg",
         "leaderboard", "explorer", "plots", "segment", "lines", "offline", "runtime",
         "hidden_attacks", "candidates", "hashes", "start", "documents", "negatives", "twins",
         "questions")  # fmt: skip

for name in sys.argv[1:] or NAMES:
    print(f"# {name}", flush=True)
    import_module(f"benchmarks.{name}").main()
