"""Training data and rewards (RAGE, section 4): ``export sft``, ``export rl-prompts``, rewards.

Reaches the core through ``publish.export``, ``evaluator`` and ``library``. Begin at `exports`, then
`rewards`.
"""
