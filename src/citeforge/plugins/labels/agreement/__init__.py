"""How well judges and measures agree with people."""
