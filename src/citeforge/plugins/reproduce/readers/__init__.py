"""How published files become numbers: one reader a kind of file. `run` names them."""
