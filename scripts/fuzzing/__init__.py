"""What scripts/fuzz.py feeds to the tool, and what it checks of the answers."""
