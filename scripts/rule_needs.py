"""Writes doctor/rules/needs.json: the facts that each rule reads, by its `needs`, so that the rule need not
be imported to know them.

    python scripts/rule_needs.py

Run it after a rule was added or its `needs` changed; tests/rules/test_catalogue.py fails if the file is old.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> None:
    from doctor.rules import all_rules

    rows = (f"  {json.dumps(rule.code)}: {json.dumps(rule.reads)}" for rule in all_rules())
    (ROOT / "doctor" / "rules" / "needs.json").write_text(
        "{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
