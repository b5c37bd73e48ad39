"""Rules about TensorFlow's own installation: missing, built for the CPU only, installed twice, broken, or of
another release than the code needs."""
