"""The inputs that scripts/fuzz.py feeds to the tool, and the checks of the answers."""
