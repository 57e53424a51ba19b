"""Publishing benchmarks: card, Croissant, Hub, leaderboard. Renders, decides nothing."""
