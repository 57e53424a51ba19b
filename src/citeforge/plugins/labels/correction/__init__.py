"""Values of judges corrected by labels (PPI++) or by error rates (Rogan and Gladen).

Reaches the core through ``evaluator.corrections``. Begin at `correct`, then `ppi`.
"""
