"""Questions with gold and retrieved passages (Gao et al. 2023)."""
