"""The first difference between two calls, and the line of the program that made the node that differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

from dynamo_lite.program.mutations import frames_of, last_change
from dynamo_lite.program.trees.user_inputs import input_rows, user_inputs
from dynamo_lite.replay.python_state import StateChange, accounted_arguments, argument_names
from dynamo_lite.replay.seen import Seen
from dynamo_lite.torch_internals._torch_pytree import pytree


@dataclass(frozen=True)
class Difference:
    """`where` is the call, `what` the difference in words, `node` the name of the node that made the value, `line` the
    program's innermost line for it ("file.py:12: y = x * 2"); None where there is no such node."""

    where: str
    what: str
    node: str | None = None
    line: str | None = None

    def __str__(self) -> str:
        text = f"In {self.where}: {self.what}."
        if self.node is not None:
            text += f"\nThe value was made by the node {self.node}"
            text += f", at {self.line}" if self.line else "."
        return text


def first_difference(
    program: ExportedProgram,
    eager: Seen,
    exported: Seen,
    tolerance: float,
    where: str,
    account_of: Callable[[StateChange], str | None],
) -> Difference | None:
    """The first difference, or None. `account_of`: how the program's trace accounts for a change of Python state."""
    if eager.raised is not None or exported.raised is not None:
        return _exceptions(eager, exported, where)
    found = next(_differences(program, eager, exported, tolerance, where), None)
    if found is None and (lost := [change for change in eager.python if account_of(change) is None]):
        found = Difference(where, f"{lost[0]} in eager; the program does not change it")
    return found


def _exceptions(eager: Seen, exported: Seen, where: str) -> Difference | None:
    if type(eager.raised) is type(exported.raised):
        return None
    return Difference(where, f"eager raises {eager.raised!r}, the program {exported.raised!r}")


def _differences(
    program: ExportedProgram,
    eager: Seen,
    exported: Seen,
    tolerance: float,
    where: str,
) -> Iterator[Difference]:
    if text := different_trees(eager.output, exported.output):
        yield Difference(where, f"the output {text}")
        return
    nodes = _output_nodes(program)
    pairs = zip(pytree.tree_leaves(eager.output), pytree.tree_leaves(exported.output))
    for index, (want, got) in enumerate(pairs):
        if text := different_values(want, got, tolerance):
            yield _at(where, f"output {index} {text}", nodes[index] if index < len(nodes) else None)
    yield from _of_arguments(program, eager, exported, tolerance, where)
    for name in eager.state.keys() & exported.state.keys():
        if text := different_values(eager.state[name], exported.state[name], tolerance):
            yield _at(where, f"the state {name!r} after the call {text}", _last_change(_state_node(program, name)))


def _of_arguments(
    program: ExportedProgram, eager: Seen, exported: Seen, tolerance: float, where: str
) -> Iterator[Difference]:
    """Compare each argument after the call, except containers whose change the trace records as lost."""
    inputs, leaf = [node for node, _ in user_inputs(program)], 0
    names = [*argument_names(program), *map(str, range(len(eager.arguments[0])))]
    rows = [*zip(names, eager.arguments[0], exported.arguments[0])]
    rows += [(name, value, exported.arguments[1].get(name)) for name, value in eager.arguments[1].items()]
    accounted = accounted_arguments(program)
    for name, want, got in rows:
        first, leaf = leaf, leaf + len(pytree.tree_leaves(got))
        if name in accounted:
            continue
        if text := different_trees(want, got):
            yield Difference(where, f"the argument {name} after the call {text}")
            return
        for index, (mine, theirs) in enumerate(zip(pytree.tree_leaves(want), pytree.tree_leaves(got)), first):
            if text := different_values(mine, theirs, tolerance):
                node = inputs[index] if index < len(inputs) else None
                yield _at(where, f"argument {index} after the call {text}", _last_change(node))


def different_trees(want: Any, got: Any) -> str | None:
    """How two structures of containers differ, in words."""
    mine, theirs = pytree.tree_structure(got), pytree.tree_structure(want)
    return None if mine == theirs else f"has the structure {mine}, eager's {theirs}"


def different_values(want: Any, got: Any, tolerance: float) -> str | None:
    """How two leaves differ, in words."""
    if not isinstance(want, torch.Tensor) or not isinstance(got, torch.Tensor):
        same = type(want) is type(got) and (want == got or want != want)
        return None if same else f"is {_text(got)}, eager's {_text(want)}"
    for name in ("dtype", "shape", "device", "requires_grad"):
        mine, theirs = getattr(got, name), getattr(want, name)
        if mine != theirs:
            return f"has {name} {mine}, eager's has {theirs}"
    if want.device.type == "meta" or torch.equal(want, got):
        return None
    if torch.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None
    worst = (
        (got.detach().double() - want.detach().double()).abs().nan_to_num().max()
        if not want.is_complex()
        else torch.tensor(0)
    )
    return f"is {_text(got)}, eager's {_text(want)} (largest difference {float(worst):.3g})"


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        items = ", ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in value.detach().flatten()[:4].tolist())
        return f"[{items}{', ...' if value.numel() > 4 else ''}]"
    return repr(value)[:80]


# ---- the node that made a value


def _at(where: str, what: str, node: fx.Node | None) -> Difference:
    return Difference(where, what, None if node is None else node.name, None if node is None else line_of(node))


def line_of(node: fx.Node) -> str | None:
    """The innermost line of the program in a node's stack trace, as "file:line: source"."""
    frames = frames_of(node)
    return f"{frames[-1].filename}:{frames[-1].lineno}: {frames[-1].source}" if frames else None


def _output_nodes(program: ExportedProgram) -> list[fx.Node | None]:
    (output,) = [node for node in program.graph.nodes if node.op == "output"]
    specs = program.graph_signature.output_specs
    pairs = zip(output.args[0], specs)
    return [arg if isinstance(arg, fx.Node) else None for arg, spec in pairs if spec.kind is OutputKind.USER_OUTPUT]


def _state_node(program: ExportedProgram, name: str) -> fx.Node | None:
    return next((node for node, spec in input_rows(program) if spec.target == name), None)


def _last_change(node: fx.Node | None) -> fx.Node | None:
    return None if node is None else last_change(node)
