"""Versions: what is installed, as programs print it, report forms hold it and sentences say it."""

from doctor.logs.signatures.versions import cuda, cudnn, driver, fields, python, rows, tensorflow

__all__ = ["cuda", "cudnn", "driver", "fields", "python", "rows", "tensorflow"]
