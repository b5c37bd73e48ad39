"""CPU against GPU: matrix products and convolutions of growing size, timed honestly in a process of their own."""
