"""Add-ons of TensorFlow that must have its minor version."""

from __future__ import annotations

SAME_MINOR = ("tensorflow-text",)
"""The README of tensorflow-text, "A Note about Compatibility with TensorFlow"."""
