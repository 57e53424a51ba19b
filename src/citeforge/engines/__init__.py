"""How heavy work is done, behind small protocols."""
