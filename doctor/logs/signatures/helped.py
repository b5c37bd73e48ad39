"""Words for success in people's reports of a solution."""

from __future__ import annotations

HELPED = (
    r"(?<!not )(?<!n't )(?<!never )(?<!longer )(?<!not be )(?<!n't be"
    r" )\b(?:works?|worked|working|fix(?:ed|es)|solv(?:ed|es)|resolv(?:ed|es)|help(?:ed|s)|cur(?:ed|es)"
    r"|(?:did|does)"
    r" (?:it|the (?:trick|job))|made it work"
    r"|recogni[sz](?:ed|es)|detect(?:ed|s)|shows? up|showed up|appear(?:ed|s)|found|is there|was there|is"
    r" back|is fine|is ok|it'?s (?:fine|ok)|everything (?:is )?(?:fine|ok)|no more|is gone|did"
    r" fix|disappeared|went away"
    r"|(?:sees|saw|finds|uses|used|could (?:use|see|find)|can now (?:use|see|find))"
    r" (?:the|my|both|all|its|our) (?:\w+ )?(?:GPUs?|cards?)|(?:is|are|was|were) (?:now"
    r" )?(?:visible|usable)|(?:made|makes|lets?) (?:[^\s.,]{1,20}"
    r" ){1,6}?(?:see|find|use|work|detect|recogni[sz]e))\b"
)
"""English, without "not found" and "doesn't work"."""
ELSEWHERE = "解决|好了|成功|正常|해결|인식|잘 ?(?:됨|됩니다|돌아)|動(?:い|き)|解決|認識"
"""The same in Chinese, Korean and Japanese."""
HELPED_NEAR = (
    "work|fixe|solve|resolve|help|cured|cures|did it|does it|the trick|the job|recogni|detect|shows up|show"
    " up|showed up|appear|found|is there|was there|is back|is fine|is ok|it's fine|it's ok|its fine|its"
    " ok|everything |no more|is gone|did fix|went away|sees |saw |finds |uses |used |could use|could"
    " see|could find|can now|visible|usable|made |makes |lets |let "
)
"""Literals; every match of HELPED holds one of them."""
