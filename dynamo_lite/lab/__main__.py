"""`python -m dynamo_lite.lab`. `verify` is run without the other commands, which import torch."""

import sys

import typer

PROGRAM = "python -m dynamo_lite.lab"


def main() -> None:
    """The command line."""
    if sys.argv[1:2] == ["verify"]:
        from dynamo_lite.lab.verifying import verify

        light = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        light.command()(verify)
        light(sys.argv[2:], prog_name=f"{PROGRAM} verify")
    from dynamo_lite.lab.commands import app

    app(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
