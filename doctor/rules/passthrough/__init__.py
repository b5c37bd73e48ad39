"""Rules about a GPU that the host has to pass into a container or into WSL2."""
