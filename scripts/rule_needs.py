"""Writes doctor/rules/needs.json, which lists the facts that each rule reads (its `needs`), so that they are
known without importing the rule.

    python scripts/rule_needs.py

Run this script after adding a rule or changing its `needs`; tests/rules/test_catalogue.py fails if the file
is out of date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> None:
    from doctor.rules import all_rules

    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    rows = (f"  {json.dumps(rule.code)}: {json.dumps(rule.reads)}" for rule in all_rules())
    path = ROOT / "doctor" / "rules" / "needs.json"
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"{path.relative_to(ROOT)} is written")


if __name__ == "__main__":
    main()
