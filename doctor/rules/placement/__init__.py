"""Rules about the devices that a program names: without a kernel, absent, or renumbered."""
