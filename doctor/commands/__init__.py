"""The commands of the tool, one module each. A command gets its arguments and returns an exit code."""
