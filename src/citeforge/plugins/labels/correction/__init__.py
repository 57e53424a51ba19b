"""Values of judges corrected by labels (PPI++) or by error rates (Rogan and Gladen)."""
