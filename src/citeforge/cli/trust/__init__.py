"""Commands that check packages against what they promise."""
