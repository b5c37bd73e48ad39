"""Records machines as folders that `--root` can read."""
