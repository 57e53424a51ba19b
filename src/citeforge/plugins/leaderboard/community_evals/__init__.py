"""Scores written for the collections of other sites.

On a model's page of the Hugging Face Hub (Community Evals): ``publish results``, in `results`. As
records of Every Eval Ever, evaleval's collection: ``export every-eval-ever``, in `every_eval_ever`.
Reaches the core through ``publish``, ``publish.export`` and ``evaluator``. Begin at `results`.
"""
