"""Rules about the program's own GPU settings: too late, or contradictory."""
