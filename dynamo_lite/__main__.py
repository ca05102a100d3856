"""`python -m dynamo_lite`: the commands of command_line/app.py."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; its exit status (command_line/usage.py)."""
    from dynamo_lite.command_line.app import app

    try:
        app(args=arguments, prog_name="python -m dynamo_lite")
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
