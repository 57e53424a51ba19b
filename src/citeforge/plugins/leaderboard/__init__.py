"""A static leaderboard and viewer, which needs no server: pages load nothing from other sites.

Reaches the core through ``library``, ``evaluator`` and ``publishing``. From Python:
`build.build_one` and `build.build_leaderboard` write sites, `submit.add_submissions` takes
submissions in, and `start.start_leaderboard` writes a repository to start from. Begin at
`commands`; `results` and `every_eval_ever` write scores for other sites.
"""
