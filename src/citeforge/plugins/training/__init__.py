"""Training data (``export sft``, ``export rl-prompts``) and rewards for trainers (RAGE, section 4).

Reaches the core through ``publishing.export``, ``evaluator`` and ``library``. Begin at `exports`,
then `rewards`.
"""
