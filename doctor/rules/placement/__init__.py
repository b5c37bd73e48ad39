"""Rules about the devices that a program requests: a device without a kernel for the op, a missing device, or
renumbered GPUs."""
