"""Knowledge graphs."""
