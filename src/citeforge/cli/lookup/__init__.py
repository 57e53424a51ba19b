"""Commands that tell what is there."""
