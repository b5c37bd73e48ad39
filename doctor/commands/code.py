"""`tfgpu-doctor code`: print the page for a finding code, or list all codes."""

from __future__ import annotations

import argparse

from doctor.commands.usage import suggestion
from doctor.errors import UsageError
from doctor.printable import as_json

EPILOG = """\
examples:
  tfgpu-doctor code                 all codes
  tfgpu-doctor code cudnn-init-oom  the page for one code"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `code` to the parser."""
    parser.add_argument("code", nargs="?", help="a finding code, such as cudnn-init-oom")


def run(args: argparse.Namespace) -> int:
    """Print the page for a code, or list all codes, and return exit code 0. Raises UsageError for a code that
    does not exist."""
    from doctor.render.fold import columns_of, fold
    from doctor.render.output import destination
    from doctor.rules import PLACES, all_rules, rule_of

    if args.code is not None and args.code not in PLACES:
        raise UsageError(
            f"unknown finding code `{args.code}`",
            suggestion(args.code, PLACES, "`tfgpu-doctor code` lists all codes"),
        )
    with destination(args.output) as out:
        if args.code is None:
            rules = all_rules()
            if args.format == "json":
                rows = [{"code": r.code, "severity": r.severity, "title": r.title} for r in rules]
                out.write(as_json(rows, indent=1) + "\n")
                return 0
            width = max(len(rule.code) for rule in rules)
            lines = [f"{rule.code:<{width}}  {rule.severity:<7}  {rule.title}\n" for rule in rules]
            out.write(fold("".join(lines), columns_of(out)))
            return 0
        rule = rule_of(args.code)
        if args.format == "json":
            document = {"code": rule.code, "severity": rule.severity, "title": rule.title, "page": rule.page}
            out.write(as_json(document) + "\n")
        else:
            page = f"# {rule.code} ({rule.severity})\n\n{rule.page}\n"
            out.write(fold(page, columns_of(out), paragraphs=True))
    return 0
