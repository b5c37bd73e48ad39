"""What somebody says was wrong, or what helped, where little or nothing was printed."""

from doctor.logs.signatures.said import program, situations

__all__ = ["program", "situations"]
