"""Rules about a GPU that the host has to pass in: into a container, into WSL2."""
