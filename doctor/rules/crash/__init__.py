"""Rules about programs that fail on a GPU that works: kernels, collectives, defects of one release."""
