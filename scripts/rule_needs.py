"""Write doctor/rules/needs.json: what each rule reads, as its own `needs` say, for those who have not
imported it.

    python scripts/rule_needs.py

Run it after a rule came or reads something new; tests/rules/test_catalogue.py says when.
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
