"""Rules about TensorFlow's own installation: missing, for the CPU only, installed twice, broken, or with
another API."""
