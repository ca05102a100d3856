"""`lab verify`: the proofs of a certificate file or a saved program, in a process without torch."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dynamo_lite.certificates.__main__ import run


class CrossCheck(StrEnum):
    """A second check of the claims."""

    z3 = "z3"
    values = "values"


def verify(
    files: Annotated[list[str], typer.Argument(help="of trace.certificates.save, or a program of dynamo_lite.save")],
    cross_check: Annotated[
        list[CrossCheck] | None, typer.Option(help="check the claims a second time, without the proofs")
    ] = None,
) -> None:
    """Replay every proof of a file. Exits with 1 where one is rejected, with 2 for a file that cannot be read."""
    raise typer.Exit(run(files, [check.value for check in cross_check or ()]))
