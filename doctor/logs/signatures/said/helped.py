"""The words for success."""

from __future__ import annotations

HELPED = (
    r"\b(?:works?|worked|working|fix(?:ed|es)|solv(?:ed|es)|resolv(?:ed|es)|help(?:ed|s)|cur(?:ed|es)|(?:did|does) (?:it|the (?:trick|job))|made it work"
    r"|recogni[sz](?:ed|es)|detect(?:ed|s)|shows? up|showed up|appear(?:ed|s)|found|is there|was there|is back|is fine|is ok|it'?s (?:fine|ok)|everything (?:is )?(?:fine|ok)|no more|is gone|did fix|disappeared|went away)\b"
)
HELPED_NEAR = (
    "work|fixe|solve|resolve|help|cured|cures|did it|does it|the trick|the job|recogni|detect|shows up|show up|showed up|appear|found|is there|was there"
    "|is back|is fine|is ok|it's fine|it's ok|its fine|its ok|everything |no more|is gone|did fix|went away"
)
"""One of these stands wherever HELPED does."""
