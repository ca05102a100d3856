"""Errors in a command itself, and the exit codes of all commands."""

from __future__ import annotations

OK = 0
"""The command succeeded, and found nothing wrong."""
FOUND = 1
"""The program is refused, raises, or differs from eager; a size cannot vary; the doctor has found something."""
USAGE = 2
"""The command line makes no sense: no such file or name, an expression that raises, arguments that do not fit."""


class UsageError(Exception):
    """The command line makes no sense; the message states the reason."""
