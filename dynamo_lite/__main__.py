"""`dynamo-lite` and `python -m dynamo_lite`: the commands of command_line/app.py."""

from __future__ import annotations

import os
import sys

CLOSED = 141
"""The reader of the output has closed the pipe: 128 + SIGPIPE, as a shell reports it."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and return its exit status (command_line/usage.py)."""
    from dynamo_lite.command_line.app import app

    status = 0
    try:
        app(args=arguments, prog_name="dynamo-lite")
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
        if isinstance(left.__context__, BrokenPipeError):  # which click turns into exit status 1
            status = CLOSED
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the interpreter flushes again as it ends, and would print an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = CLOSED
    return status


if __name__ == "__main__":
    sys.exit(main())
