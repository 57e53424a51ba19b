"""Work on the workers of a Ray cluster; whatever is kept is written by the driver."""
