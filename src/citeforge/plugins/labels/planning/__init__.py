"""How many queries, labels and judges are needed, before anybody is asked."""
