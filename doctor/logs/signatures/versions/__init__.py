"""Signatures of the versions of installed software in programs' output, in report forms and in sentences."""
