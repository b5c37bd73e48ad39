"""Writes doctor/logs/signatures/index.json, which maps words to signatures, so that only the signatures that
the input needs are imported.

    python scripts/signature_index.py

Run this script after adding a signature or changing its words; tests/logs/test_index.py fails if the file is
out of date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def text() -> str:
    """Return the text that index.json must have for the current families of signatures."""
    from doctor.logs.signatures import FAMILIES, family
    from doctor.logs.signatures.indexing import indexed

    families = {name: family(name) for name in FAMILIES}
    index = indexed(sum(families.values(), ()), {name: len(rows) for name, rows in families.items()})
    rows = (
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in index._asdict().items()
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


def main() -> None:
    path = ROOT / "doctor" / "logs" / "signatures" / "index.json"
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    path.write_text(text(), encoding="utf-8")
    print(f"{path.relative_to(ROOT)} is written")


if __name__ == "__main__":
    main()
