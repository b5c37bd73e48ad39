"""Reading pasted text: bytes in, facts out."""
