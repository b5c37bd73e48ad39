"""Failures made to happen on purpose, and what cures them: children under limits, memory always given back."""
