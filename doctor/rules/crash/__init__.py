"""Rules about programs that fail on a working GPU: kernels, collectives, defects of one release."""
