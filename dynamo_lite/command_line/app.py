"""The commands. Exit codes: 0 done, 1 the program is refused or differs (or the doctor found something), 2 usage."""

from __future__ import annotations

import sys
import zipfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dynamo_lite.command_line.output import Output
from dynamo_lite.command_line.usage import FOUND, OK, UsageError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
    pretty_exceptions_enable=False,
    help=(
        "Export PyTorch programs, and look at what they rest on. "
        "Exit codes: 0 done; 1 the program is refused, raises or differs; 2 the command makes no sense; "
        "141 the reader of the output is gone."
    ),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dynamo_lite import __version__

        print(f"dynamo-lite {__version__}")
        raise typer.Exit(OK)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None: ...


class EffectsChoice(StrEnum):
    refuse = "refuse"
    exact = "exact"
    drop = "drop"


class ControlFlow(StrEnum):
    refuse = "refuse"
    capture = "capture"


Program = Annotated[
    str,
    typer.Argument(
        metavar="FILE:NAME",
        help="a module, a class, a factory without parameters or a function: model.py:Net, 'model.py:make(layers=2)', "
        "package.models:net",
    ),
]
Input = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", help="the next positional argument, as a Python expression: 'torch.randn(2, 3)'"),
]
Kwarg = Annotated[list[str] | None, typer.Option("--kwarg", "-k", help="a keyword argument: 'mask=torch.ones(2)'")]
Inputs = Annotated[
    str | None,
    typer.Option(help="FILE:FUNC (or :FUNC in the program's file); FUNC() returns args or (args, kwargs)"),
]
Dynamic = Annotated[
    list[str] | None,
    typer.Option("--dynamic", "-d", help="sizes that vary: 'x:0=batch,1=auto'; the range of one: 'batch=2..64'"),
]
Constant = Annotated[
    list[str] | None,
    typer.Option("--constant", "-c", help="an argument whose value is the same in each call: 'grid', 'batch.grid'"),
]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
Strict = Annotated[bool, typer.Option(help="interpret every frame; --no-strict lets CPython run the program")]
EffectsOption = Annotated[EffectsChoice, typer.Option(help="how to treat effects that a program cannot carry")]
ControlFlowOption = Annotated[ControlFlow, typer.Option(help="how to treat branches on the data of tensors")]
Seed = Annotated[int, typer.Option(help="of torch's generators, set before the program is made")]
Eval = Annotated[bool, typer.Option("--eval", help="call eval() on the module first")]


@app.command()
def export(
    program: Program,
    input: Input = None,
    kwarg: Kwarg = None,
    inputs: Inputs = None,
    dynamic: Dynamic = None,
    constant: Constant = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="where to save the program (.pt2)")] = None,
    strict: Strict = True,
    effects: EffectsOption = EffectsChoice.refuse,
    control_flow: ControlFlowOption = ControlFlow.capture,
    eval: Eval = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Export a program, and save it with -o. Without -o its graph is printed."""
    import dynamo_lite
    from dynamo_lite.command_line import records

    out = Output("export", json)
    with out.working("exporting"):
        _check_folder(output)
        fixed = dynamic, constant
        trace, _ = _traced(program, (input, kwarg, inputs), fixed, strict, effects, control_flow, (eval, seed))
        if output is not None:
            dynamo_lite.save(trace.program, output)
    record = records.trace_record(trace) | {"output": None if output is None else str(output)}
    operators = records.counted(record["operators"], "operator")
    text = str(trace.program.graph).strip() if output is None else f"{output}: {operators}"
    notes = "".join(f"\nnote: {note}" for note in record["notes"])
    out.finish(record, text + notes)


@app.command()
def explain(
    program: Program,
    input: Input = None,
    kwarg: Kwarg = None,
    inputs: Inputs = None,
    dynamic: Dynamic = None,
    constant: Constant = None,
    control_flow: ControlFlowOption = ControlFlow.capture,
    eval: Eval = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Everything that export would refuse, each with its fix, in one go. Exits with 1 if there is something."""
    import dynamo_lite
    from dynamo_lite.command_line import records

    out = Output("explain", json)
    with out.working("looking for graph breaks"):
        target, call, shapes = _read(program, (input, kwarg, inputs), dynamic, (eval, seed))
        words = {"dynamic_shapes": shapes, "control_flow": control_flow.value, "constants": constant}
        found = dynamo_lite.explain(target.module, *call, **words)
    out.finish(records.explanation_record(found), str(found), OK if found else FOUND)


@app.command()
def check(
    saved: Annotated[Path, typer.Argument(metavar="PROGRAM.pt2", help="a saved program")],
    program: Program,
    input: Input = None,
    kwarg: Kwarg = None,
    inputs: Inputs = None,
    eval: Eval = False,
    seed: Seed = 0,
    weights: Annotated[bool, typer.Option("--load-weights", help="the module gets the program's weights")] = False,
    tolerance: Annotated[float, typer.Option(help="the largest absolute and relative difference")] = 1e-5,
    json: Json = False,
) -> None:
    """Run a saved program and eager side by side: the example, fresh data, other sizes. Exits with 1 if they differ."""
    import dynamo_lite
    from dynamo_lite.command_line import records

    out = Output("check", json)
    with out.working("comparing"):
        if not saved.is_file():
            raise UsageError(f"there is no file {str(saved)!r}")
        if not zipfile.is_zipfile(saved):  # of such a file torch logs a traceback
            raise UsageError(f"{str(saved)!r} is not a saved program")
        target, call, _ = _read(program, (input, kwarg, inputs), None, (eval, seed))
        loaded = _load(saved)
        if weights:
            _give_weights(loaded, target.module)
        report = dynamo_lite.check(loaded, target.module, *call, tolerance=tolerance)
    others = [] if report or weights else _other_weights(loaded, target.module)
    hint = "\n\nThe weights differ ({}): --load-weights gives the module the program's.".format(", ".join(others))
    text = f"{report}{hint if others else ''}"
    out.finish(records.check_record(report) | {"other_weights": others}, text, OK if report else FOUND)


@app.command()
def report(
    program: Program,
    output: Annotated[Path, typer.Option("--output", "-o", help="an .html or .json file")],
    input: Input = None,
    kwarg: Kwarg = None,
    inputs: Inputs = None,
    dynamic: Dynamic = None,
    constant: Constant = None,
    strict: Strict = True,
    effects: EffectsOption = EffectsChoice.refuse,
    control_flow: ControlFlowOption = ControlFlow.capture,
    eval: Eval = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write a page about a program: its source, nodes, sizes, guards with proofs; or why it is refused."""
    import dynamo_lite
    from dynamo_lite.command_line import records
    from dynamo_lite.errors import DynamoLiteError, InvalidArguments

    out = Output("report", json)
    with out.working("looking at the program"):
        if output.suffix not in (".html", ".json"):
            raise UsageError(f"--output must end with .html or .json, not {output.name!r}")
        _check_folder(output)
        fixed = dynamic, constant
        try:
            trace, _ = _traced(program, (input, kwarg, inputs), fixed, strict, effects, control_flow, (eval, seed))
            trace.report(output)
        except InvalidArguments:
            raise
        except DynamoLiteError:
            target, call, shapes = _read(program, (input, kwarg, inputs), dynamic, (eval, seed))
            words = {"dynamic_shapes": shapes, "control_flow": control_flow.value, "constants": constant}
            found = dynamo_lite.explain(target.module, *call, **words)
            if not found.problems:
                raise
            found.report(output)
            trace = None
    if trace is None:
        record = records.explanation_record(found) | {"output": str(output)}
        out.finish(record, f"{output}: refused, {records.counted(len(found.problems), 'problem')}", FOUND)
    out.finish(records.trace_record(trace) | {"output": str(output)}, str(output))


@app.command()
def doctor(
    write_manifest: Annotated[bool, typer.Option("--write-manifest", help="record what torch has")] = False,
    no_contracts: Annotated[bool, typer.Option("--no-contracts", help="look names up only")] = False,
    json: Json = False,
) -> None:
    """Check torch's private API in the installed torch. Exits with 1 if something is missing or has moved."""
    from dynamo_lite.command_line.records import doctor_record
    from dynamo_lite.doctor import manifest
    from dynamo_lite.doctor import report as reports

    out = Output("doctor", json)
    if write_manifest:
        path = manifest.write()
        out.finish({"manifest": str(path)}, f"wrote {path}")
    with out.working("examining torch"):
        found = reports.examine(with_contracts=not no_contracts)
    if json:
        out.finish(doctor_record(found), "", FOUND if found.findings else OK)
    raise typer.Exit(FOUND if reports.write(found) else OK)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    help="Programs that can and cannot be exported, as cases that run: list, search, show, check, site.",
)
def exportdb(context: typer.Context) -> None:
    from dynamo_lite.exportdb.commands import app as cases

    cases(args=context.args, prog_name="dynamo-lite exportdb")


Words = tuple[list[str] | None, list[str] | None, str | None]


def _read(program: str, words: Words, dynamic: list[str] | None, made: tuple[bool, int]) -> tuple[Any, Any, Any]:
    """(the program, its example call, its dynamic_shapes); `made`: whether eval() is called on it, the seed."""
    from dynamo_lite.command_line.inputs import call_of, dynamic_shapes_of
    from dynamo_lite.command_line.targets import target

    is_eval, seed = made
    found = target(program, seed)
    if is_eval:
        if not hasattr(found.module, "eval"):
            raise UsageError(f"--eval: {program!r} has no eval()")
        found.module.eval()
    call = call_of(found, words[0] or (), words[1] or (), words[2])
    return found, call, dynamic_shapes_of(found, call, dynamic or ())


def _traced(
    program: str,
    words: Words,
    sizes: tuple[list[str] | None, list[str] | None],
    strict: bool,
    effects: EffectsChoice,
    control_flow: ControlFlow,
    made: tuple[bool, int],
) -> tuple[Any, Any]:
    import dynamo_lite

    dynamic, constants = sizes
    target, call, shapes = _read(program, words, dynamic, made)
    trace = dynamo_lite.trace(
        target.module,
        *call,
        dynamic_shapes=shapes,
        strict=strict,
        effects=effects.value,
        control_flow=control_flow.value,
        constants=constants,
    )
    return trace, target


def _check_folder(output: Path | None) -> None:
    """Before the work, which may take a while."""
    if output is not None and not output.resolve().parent.is_dir():
        raise UsageError(f"there is no folder {str(output.resolve().parent)!r}")


def _load(saved: Path) -> Any:
    import dynamo_lite

    try:
        return dynamo_lite.load(saved)
    except Exception as error:
        raise UsageError(f"{str(saved)!r} cannot be loaded: {type(error).__name__}: {error}") from error


def _other_weights(program: Any, module: Any) -> list[str]:
    """Names of parameters and buffers that have other values in the module than in the program; three at most."""
    import torch

    own = module.state_dict() if isinstance(module, torch.nn.Module) else {}
    known = {name: value for name, value in program.state_dict.items() if name in own}
    names = [name for name, value in known.items() if not torch.equal(value.cpu(), own[name].cpu())]
    return [*names[:3], *(["..."] if len(names) > 3 else [])]


def _give_weights(program: Any, module: Any) -> None:
    try:
        module.load_state_dict(program.state_dict, strict=False)
    except (AttributeError, RuntimeError) as error:
        raise UsageError(f"--load-weights: {error}") from error
