"""Systems that produce submissions."""
