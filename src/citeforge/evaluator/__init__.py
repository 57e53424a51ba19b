"""From submissions to scores."""
