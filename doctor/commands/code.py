"""`tfgpu-doctor code`: the page of a finding code, or the list of all."""

from __future__ import annotations

import argparse
import json

from doctor.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("code", nargs="?", help="a finding code, such as cudnn-init-oom")


def run(args: argparse.Namespace) -> int:
    """Print the page, or the list. Raises UsageError for a code that does not exist."""
    from doctor.render.output import destination
    from doctor.rules import all_rules

    rules = {rule.code: rule for rule in all_rules()}
    if args.code is not None and args.code not in rules:
        import difflib

        near = difflib.get_close_matches(args.code, rules, 3)
        raise UsageError(
            f"there is no finding code `{args.code}`",
            f"did you mean {', '.join(near)}?" if near else "`tfgpu-doctor code` lists them",
        )
    with destination(args.output) as out:
        if args.code is None:
            if args.format == "json":
                rows = [{"code": r.code, "severity": r.severity, "title": r.title} for r in rules.values()]
                out.write(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
                return 0
            width = max(len(code) for code in rules)
            for rule in rules.values():
                out.write(f"{rule.code:<{width}}  {rule.severity:<7}  {rule.title}\n")
            return 0
        rule = rules[args.code]
        if args.format == "json":
            document = {"code": rule.code, "severity": rule.severity, "title": rule.title, "page": rule.page}
            out.write(json.dumps(document, ensure_ascii=False) + "\n")
        else:
            out.write(f"# {rule.code} ({rule.severity})\n\n{rule.page}\n")
    return 0
