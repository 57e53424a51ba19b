"""Commands that hold judges and packages against people's labels and their own promises."""
