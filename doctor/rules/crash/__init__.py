"""Rules about failures on a working GPU: crashing kernels, collective operations, a full disk,
defects of one release."""
