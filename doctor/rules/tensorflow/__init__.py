"""Rules about TensorFlow's own installation: missing, built for the CPU only, installed twice, broken, or
in a release other than the one that the code needs."""
