"""Scores of a model on its page of the Hugging Face Hub (Community Evals): ``publish results``.

Reaches the core through ``publish`` and ``evaluator``. Begin in `results`.
"""
