"""Systems of ALCE (Gao et al. 2023): one prompt, interaction, editing after writing.

May import everything below systems. Begin at `prompts`, then `interact`.
"""
