"""Errors of conditions that are known at run time only, and the `torch._check` that decides each.

The condition is about symbols (`u0 >= 4`); its author knows variables. The innermost function of the user's own in
which every symbol has a name (a variable, a size of a tensor, `t.item()`) is the place for a check: before the
statement that evaluated it, in terms of these names.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.errors import GraphBreak, UserFrame
from dynamo_lite.interpreter.frames.tracebacks import is_own_code
from dynamo_lite.origin_names import OriginNames, key
from dynamo_lite.symbolic_shapes.errors import DataDependentQuestion, UnknownValue, describe_symbol
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Node, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_symbols_of
from dynamo_lite.symbolic_shapes.expressions.printer import to_python
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, FloatRelation, Junction, not_
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.sizes import deciding_inputs, decisions_in_c
from dynamo_lite.tracing.sizes.builtin_calls import asks
from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS
from dynamo_lite.tracing.vocabulary.program_points import frames_at
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

Names = dict[Node, str]


class Unnamed(Exception):
    """A symbol that no variable of a function represents."""


@dataclass(frozen=True)
class Check:
    """`code`, a statement that settles a question if it stands before line `line` of `file`, in `function`."""

    file: str
    line: int
    function: str
    code: str


def undecided(tracer: TracerView, question: DataDependentQuestion | UnknownValue) -> GraphBreak:
    """The error for a question about sizes that depends on data."""
    id = "data-dependent-branch" if isinstance(question, DataDependentQuestion) else "data-dependent-value"
    return explain(tracer, id, question)


def explain(tracer: TracerView, id: str, question: DataDependentQuestion | UnknownValue) -> GraphBreak:
    """The error for a question (or a number) that depends on data. Its `checks` are the `Check`s that settle it."""
    asked: Node = question.relation if isinstance(question, DataDependentQuestion) else question.node
    named = _named(tracer, asked)
    origins = _origins(tracer, asked)
    names = named[1] if named is not None else origins.all()
    shown = condition(asked, names)
    own = named if named is None or not _is_installed(named[0]) else _named(tracer, asked, installed=False)
    checks = _checks(question, *own) if own is not None else []
    plain = {key(symbol): text for symbol, text in origins.described() if text} if named is None else names
    known = [_describe(symbol, known, plain) for symbol, known in question.ranges.items()]
    known += [f"  {plain.get(f) or f.name} is a float that is known at run time only{origins.line(f)}"
              for f in _floats(asked)]  # fmt: skip
    if named is None and _is_of_packed_sequence(tracer):
        return _of_packed_sequence(tracer, id, known)
    row, by = GRAPH_BREAKS[id], decisions_in_c.decision(tracer)
    instead = row.instead if by is None else by.instead
    if by is None and named is None:
        instead = _IN_CALLS.get(asks(tracer) or "", instead)
    if by is None and _is_left_open(question):
        instead = _FOR_OPEN_SIZES
    if not checks and _is_truth(question):
        return row.error(id, row.what if by is None else by.what, instead, frames_at(tracer.mark()))
    what = "\n".join([_what(tracer, question, shown, origins.only(asked) if named is None else ""), *known])
    frames = frames_at(tracer.mark())
    if not frames and tracer.sees_python:  # what the program returned is read after its end
        return row.error(id, what, _FOR_TEXTS, question.origin.stack or ())
    error = row.error(id, what, _instead(checks, instead, question, own is named), frames)
    if by_value := deciding_inputs.advice(tracer, asked):
        error.suggest(by_value, last=True)
    error.checks = tuple(checks)  # type: ignore[attr-defined]
    error.case = "range_over_data" if isinstance(question, UnknownValue) else "data_dependent_size"
    return error


def _origins(tracer: TracerView, asked: Node) -> OriginNames:
    env = tracer.recorder.env
    assert env is not None
    return OriginNames([*symbols_of(asked), *_floats(asked)], env.float_origins, env.size_like)


_FOR_TEXTS = "return the number, or the tensor that it is of, and make the text of it outside of forward."
_IN_CALLS = {"one_hot": "give one_hot() its `num_classes`."}
"""Name of a call that needs a number of data → what to write instead."""


def _is_of_packed_sequence(tracer: TracerView) -> bool:
    """Whether torch's code of recurrent layers, at work on a PackedSequence, asks."""
    frame, frames = tracer.vm.frame, frames_at(tracer.mark())
    if frame is None or not frames or not frames[-1].is_library or not frames[-1].filename.endswith("rnn.py"):
        return False
    variables = frame.f_locals()
    return variables.get("batch_sizes") is not None or frame.code.co_name == "pad_packed_sequence"


def _of_packed_sequence(tracer: TracerView, id: str, known: list[str]) -> GraphBreak:
    """A recurrent layer is given a PackedSequence, whose batch sizes are made of lengths."""
    what = "The lengths handed to pack_padded_sequence make the sizes of each step's batch, which are data of a tensor."
    name = asks(tracer)
    needs = f"{f'{name}()' if name else 'The recurrent layer'} needs them as numbers."
    instead = (
        "take the gradient outside of the program (the parameters of `module()` have eager's), or run the layer on the "
        "padded sequence, and take the rows within the lengths by a mask, or the last one by gather."
    )
    error = GRAPH_BREAKS[id].error(id, "\n".join([f"{what} {needs}", *known]), instead, frames_at(tracer.mark()))
    error.case = "packed_sequence_gradient"
    return error


def _is_truth(question: Any) -> bool:
    """Whether Python evaluated the truth of a tensor: its symbol, 0 or 1, has no name in the program."""
    return isinstance(question, DataDependentQuestion) and [*question.ranges.values()] == [(0, 1)]


def _is_left_open(question: Any) -> bool:
    """Whether it is about sizes and numbers of inputs alone that a ShapesSpec or mark_unbacked leaves open."""
    origins = [symbol.origin for symbol in question.ranges]
    return bool(origins) and all(origin is not None and origin.kind == "declaration" for origin in origins)


_ON_DATA = "depends on the data of a tensor, which is not known during export"
_ON_OPEN_SIZES = "depends on a size that the inputs' specification leaves open, whatever it is in the example"
_FOR_OPEN_SIZES = (
    "state in `assumptions` of the ShapesSpec or with torch._check what always holds of it; or describe the dimension "
    "by Dim.DYNAMIC instead, for which the example decides and the program has a guard"
)


def _what(tracer: TracerView, question: Any, shown: str, described: str) -> str:
    depends = _ON_OPEN_SIZES if _is_left_open(question) else _ON_DATA
    if isinstance(question, DataDependentQuestion):
        return f"Whether {shown} holds {depends}."
    name = asks(tracer)
    needs = f"{name}() needs" if name else "this line needs"
    number = f"{described[0].upper()}{described[1:]}" if described else f"The number {shown}"
    return f"{number} {depends}, and {needs} it."


def _floats(asked: Node) -> list[Float]:
    return sorted(float_symbols_of(asked), key=lambda symbol: symbol.id)


def _describe(symbol: Symbol, known: Any, names: Names) -> str:
    name = names.get(symbol.as_int())
    text = describe_symbol(symbol, known)
    return f"  {name} is {text}" if name is not None else f"  {text}"


def _instead(checks: list[Check], otherwise: str, question: Any, in_own_code: bool) -> str:
    """in_own_code: whether the line of the condition, or the variable that it is about, is not a library's."""
    if checks:
        at = checks[0]
        said = "the number that it always is" if isinstance(question, UnknownValue) else "which one always holds"
        lines = [f'say {said}, before line {at.line} of "{at.file}" (in {at.function}):']
        lines += [f"    {check.code}" for check in checks]
        return "\n".join([*lines, f"If neither always holds: {otherwise}"])
    if _is_left_open(question) or not in_own_code:
        return otherwise
    return f"assign the value to a variable and state with torch._check what always holds of it; or {otherwise}"


# -- names -----------------------------------------------------------------------------------------------------------


def _is_installed(frame: Any) -> bool:
    return UserFrame(frame.code.co_filename, 1, "").is_installed


def _named(tracer: TracerView, asked: Node, installed: bool = True) -> tuple[Any, Names] | None:
    """Return (frame, names) of the innermost function in which `asked` can be written down; torch's own are skipped.

    installed: whether it may be one of an installed library, into which no user puts a check.
    """
    frame = tracer.vm.frame
    while frame is not None:
        name = str(frame.globals.get("__name__", ""))
        library = name.partition(".")[0] == "torch"
        library = library or (not installed and _is_installed(frame))
        # Neither a comprehension has statements for the user to add to, nor a builtin that is written in Python here.
        if not library and not frame.code.co_name.startswith("<") and not is_own_code(frame.code):
            names = _with_solved(dict(_variables(frame.f_locals())))
            try:
                condition(asked, names)
                return frame, names
            except Unnamed:
                pass
        frame = frame.back
    return None


def _variables(variables: dict[str, Any]) -> Iterator[tuple[Node, str]]:
    """(expression, how the function can write it); of several ways the last counts, so the plainest comes last."""
    found = [*_within(variables)]
    for text, value in found:
        if is_fake(value):
            yield from _of_tensor(value, text)
    for text, value in reversed(found):
        if type(value) in SYMBOLIC:
            yield value.node.core, text


def _with_solved(names: Names) -> Names:
    """The names, and those of symbols that a variable holds in a linear expression: n is 2*u0 + 1."""
    solved: Names = {}
    for core, text in names.items():
        if isinstance(core, Int) and core.as_atom() is None and len(core.terms) == 1:
            ((mono, scale),) = core.terms.items()
            if len(mono) == 1 and scale > 0:
                rest = f"({text} - {core.const})" if core.const > 0 else f"({text} + {-core.const})"
                rest = rest if core.const else text
                solved[mono[0].as_int()] = f"({rest} // {scale})" if scale > 1 else rest
    return {**solved, **names}


def _within(variables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the variables, and one level of their contents."""
    for name, value in variables.items():
        if not name.isidentifier():  # of pytest's rewritten asserts
            continue
        yield name, value
        if type(value) in (list, tuple, torch.Size):
            yield from ((f"{name}[{i}]", item) for i, item in enumerate(value))
        elif type(value) is dict:
            yield from ((f"{name}[{key!r}]", item) for key, item in value.items() if type(key) in (str, int))
        elif not is_fake(value) and isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, type):
            yield from ((f"{name}.{key}", item) for key, item in vars(value).items() if key.isidentifier())


def _of_tensor(tensor: Any, text: str) -> Iterator[tuple[Node, str]]:
    for dim, size in enumerate(tensor.shape):
        if type(size) is torch.SymInt:
            yield size.node.core, f"{text}.shape[{dim}]"
    value = tensor.item_memo
    if type(value) in SYMBOLIC:
        yield value.node.core, f"{text}.item()"


# -- text ------------------------------------------------------------------------------------------------------------


def _operator_of(core: Node) -> Apply | None:
    """The operator that an integer is the result of, if it is one's: trunc(f), n // 2, max(n, m)."""
    atom = core.as_atom() if isinstance(core, Int) else None
    return atom if isinstance(atom, Apply) else None


def condition(asked: Node, names: Names) -> str:
    """Return `asked` as an argument of torch._check, where `and`, `or` and `not` would evaluate the truth of a size.

    Raises Unnamed if a symbol in it has no name.
    """
    if asked in names:
        return names[asked]
    if isinstance(asked, Bool) and not_(asked) in names:
        return f"torch.sym_not({names[not_(asked)]})"
    if isinstance(asked, Junction):
        symbol = " & " if asked.kind == "and" else " | "
        return symbol.join(f"({condition(part, names)})" for part in asked.args)
    if isinstance(asked, FloatRelation) and not asked.positive:
        return f"torch.sym_not({condition(not_(asked), names)})"
    stands_for = {atom: Symbol(text) for core, text in names.items() if (atom := _operator_of(core)) is not None}
    names = {**names, **{symbol.as_int(): symbol.name for symbol in stands_for.values()}}
    asked = substitute(asked, {atom: symbol.as_int() for atom, symbol in stands_for.items()})

    def name(symbol: Node) -> str:
        text = names.get(key(symbol))
        if text is None:
            raise Unnamed(str(symbol))
        return text

    return to_python(asked, name)


def _checks(question: Any, frame: Any, names: Names) -> list[Check]:
    file, function = frame.code.co_filename, frame.code.co_name
    line = statement_line(file, frame.lineno)
    if isinstance(question, UnknownValue):
        conditions = [f"{condition(question.node, names)} == N"]
    else:
        conditions = [condition(relation, names) for relation in (question.relation, not_(question.relation))]
    return [Check(file, line, function, f"torch._check({text})") for text in conditions]


def statement_line(file: str, line: int) -> int:
    """The line before which a statement can be put so that it runs just before line `line`."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return line
    found = line
    for parent in ast.walk(tree):
        for body in (getattr(parent, name, None) for name in ("body", "orelse", "finalbody")):
            for statement in body if isinstance(body, list) else ():
                if statement.lineno <= line <= (statement.end_lineno or line) and not _is_elif(statement, file):
                    found = statement.lineno  # parents are walked before what is in them
    return found


def _is_elif(statement: ast.stmt, file: str) -> bool:
    text = linecache.getline(file, statement.lineno)[statement.col_offset :]
    return isinstance(statement, ast.If) and text.startswith("elif")
