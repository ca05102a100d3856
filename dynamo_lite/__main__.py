"""`python -m dynamo_lite doctor`."""

from __future__ import annotations

import argparse
import sys


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; its exit status: 1 if the doctor has found something."""
    parser = argparse.ArgumentParser(prog="python -m dynamo_lite")
    commands = parser.add_subparsers(dest="command", required=True)
    doctor = commands.add_parser("doctor", help="what of torch's private API the installed torch has")
    doctor.add_argument("--write-manifest", action="store_true", help="record what the installed torch has")
    doctor.add_argument("--no-contracts", action="store_true", help="look names up only")
    chosen = parser.parse_args(arguments)

    from dynamo_lite.doctor import manifest, report

    if chosen.write_manifest:
        print(f"wrote {manifest.write()}")
        return 0
    return 1 if report.write(report.examine(with_contracts=not chosen.no_contracts)) else 0


if __name__ == "__main__":
    sys.exit(main())
