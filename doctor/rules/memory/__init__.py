"""Rules about memory: the GPU's (which process holds it, how much a job needs) and the host's."""
