"""Remedies: commands for a platform, code for a TensorFlow release."""
