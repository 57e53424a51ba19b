"""Commands that check, score, compare and report."""
