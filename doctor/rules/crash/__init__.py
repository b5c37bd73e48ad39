"""Rules about failures on a working GPU: crashing kernels, collective operations, defects of one release."""
