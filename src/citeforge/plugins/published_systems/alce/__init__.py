"""Systems of ALCE (Gao et al. 2023): one prompt, summaries, interaction, search, closed book.

Reaches the core through ``systems`` and ``builders``. Begin at `prompts`, then `interact`.
"""
