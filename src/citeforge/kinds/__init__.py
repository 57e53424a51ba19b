"""What a kind of benchmark is: one declaration a kind, which everything else asks."""
