"""Versions of what is installed, in programs' output, in report forms and in sentences."""
