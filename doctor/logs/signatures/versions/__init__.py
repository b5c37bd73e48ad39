"""Signatures of installed software versions in programs' output, in report forms and in sentences."""
