"""Files to passages: `files` finds them, `formats` reads them, `passages` cuts, `source` joins."""
