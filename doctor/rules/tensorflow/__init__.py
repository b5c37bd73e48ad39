"""Rules about TensorFlow's own installation: absent, for the CPU only, twice, broken, or of another API."""
