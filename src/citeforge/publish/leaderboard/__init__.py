"""A static leaderboard and viewer: no server, no outside request, works from ``file://``."""
