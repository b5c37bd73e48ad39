"""The commands of the tool, one module each: arguments in, exit code out."""
