"""Looking for what is wrong with a benchmark that verifies."""
