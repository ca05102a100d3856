"""`python -m dynamo_lite.certificates FILE...`. `python THIS_FOLDER FILE...` does the same with no other package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any


def _part(name: str) -> Any:
    """A file of this folder, by the package's name if there is one."""
    return import_module(f"{__package__}.{name}" if __package__ else name)


def verify(path: str, cross_checks: Sequence[str] = ()) -> str:
    """The number of proofs of each sort, in words. Raises the checker's `Rejected`; ValueError, LookupError or OSError
    for a file without certificates; AssertionError where a cross-check refutes a claim."""
    checker, files = _part("checker"), _part("files")
    _part("floats").install(checker)
    document = files.read(path)
    try:
        lines = [files.report(document, checker.verify(document))]
    except checker.MALFORMED as error:
        raise checker.Rejected(f"not a file of certificates: {error!r}") from error
    for way in cross_checks:
        counts = _part("cross_check").WAYS[way](document)
        lines.append(f"{way}: " + ", ".join(f"{number} {what}" for what, number in counts.items()))
    return "; ".join(lines)


def run(paths: Sequence[str], cross_checks: Sequence[str] = ()) -> int:
    """The exit status: 0 if each file verifies, 1 if one is rejected, 2 if one cannot be read."""
    status = 0
    for path in paths:
        try:
            print(f"{path}: {verify(path, cross_checks)}")
        except (_part("checker").Rejected, AssertionError) as error:
            print(f"{path}: rejected: {error}", file=sys.stderr)
            status = max(status, 1)
        except (OSError, ValueError, LookupError, ImportError) as error:
            print(f"{path}: {error.args[-1] if error.args else error}", file=sys.stderr)
            status = 2
    return status


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m dynamo_lite.certificates", description=__doc__)
    parser.add_argument("files", nargs="+", help="certificates.json, or program.pt2")
    parser.add_argument(
        "--cross-check", action="append", default=[], choices=["z3", "values"], help="in another way too"
    )
    given = parser.parse_args()
    return run(given.files, given.cross_check)


if __name__ == "__main__":
    sys.exit(main())
