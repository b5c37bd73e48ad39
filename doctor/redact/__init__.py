"""Redacts names, locations and secrets in text, and keeps the parts that show the fault.

`Redactor` redacts user and host names, home folders, addresses (`network`), secrets (`secret`), environment
variables except the relevant ones (`variables`), and UUIDs. Equal values get equal placeholders, different
values get different ones. `without_doors` redacts only secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor import lazy
from doctor.redact.secret import without_secrets

if TYPE_CHECKING:
    from doctor.redact.redactor import Redactor as Redactor

__getattr__ = lazy.names(__name__, {"Redactor": "redactor"})


def without_doors(text: str) -> str:
    """The text for the user's own terminal: passwords, tokens and keys are removed, names and hosts stay."""
    if "://" in text:
        from doctor.redact.network import stripped_urls

        text = stripped_urls(text)
    return without_secrets(text)
