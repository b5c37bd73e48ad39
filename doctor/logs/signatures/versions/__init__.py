"""Versions: what is installed, as programs print it, report forms hold it and sentences say it."""
