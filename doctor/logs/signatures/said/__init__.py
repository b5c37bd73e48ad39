"""What somebody says was wrong, or what helped, where little or nothing was printed: the words of answers in threads."""

from doctor.logs.signatures.said import abroad, answers, complaints, libraries, machine, program, reasons, situations

__all__ = ["abroad", "answers", "complaints", "libraries", "machine", "program", "reasons", "situations"]
