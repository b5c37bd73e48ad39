"""Rules about memory: the GPU's (who holds it, how much a job takes) and the host's."""
