"""How a command ends: its text or its JSON, its exit code; progress on a terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any, NoReturn

import typer

from dynamo_lite.command_line.records import error_record
from dynamo_lite.command_line.usage import FOUND, OK, USAGE, UsageError
from dynamo_lite.errors import InvalidArguments


class Output:
    """One command while it runs. `finish` prints and ends it; as a context manager it ends it on an exception."""

    def __init__(self, command: str, as_json: bool) -> None:
        self.command, self.as_json = command, as_json

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Open a context for the work. Output of the user's code goes to stderr if stdout is for JSON."""
        try:
            with redirect_stdout(sys.stderr) if self.as_json else nullcontext(), _progress(what):
                yield
        except (UsageError, InvalidArguments) as error:
            self.fail(error, USAGE)
        except typer.Exit:
            raise
        except Exception as error:  # a graph break, or an exception of the program itself
            self.fail(error, FOUND)

    def finish(self, record: dict[str, Any], text: str, code: int = OK) -> NoReturn:
        """Print and leave."""
        if self.as_json:
            record = {"command": self.command, "ok": code == OK, "exit_code": code, **record}
            print(json.dumps(record, indent=2, default=str))
        elif text:
            print(text)
        raise typer.Exit(code)

    def fail(self, error: BaseException, code: int) -> NoReturn:
        """An error: its text on stderr (and in the JSON on stdout)."""
        record = error_record(error)
        if self.as_json:
            self.finish({"error": record}, "", code)
        prefix = "" if record["id"] or code == USAGE else f"{record['kind']}: "
        frames = record.get("frames") if prefix else None
        for at in frames or ():
            print(f'  File "{at["file"]}", line {at["line"]}, in {at["function"]}\n    {at["code"]}', file=sys.stderr)
        print(f"{prefix}{record['text']}", file=sys.stderr)
        raise typer.Exit(code)


@contextmanager
def _progress(what: str) -> Iterator[None]:
    """Show a line on stderr during the work, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
