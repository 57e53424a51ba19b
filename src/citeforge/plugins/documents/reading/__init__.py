"""Files to passages: `source` finds files and joins passages, `formats` reads, `passages` cuts."""
