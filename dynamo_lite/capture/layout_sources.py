"""The inputs whose memory layout a tensor's strides come from, and the copies on the way that may be views.

A tensor is followed back through the operators whose results have the layout of their arguments. The strides of
recorded tensors are those for sizes of 2 or more. For a size of 1 `reshape` may return a view where larger sizes need
a copy, with other strides: whether it copies becomes a condition on sizes. (A dimension of one element may have
another stride in eager, if operators have run on tensors that are not contiguous; docs/limits.md.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import FakeTensor
from dynamo_lite.capture.graph.calls_of_subgraphs import Calls, Value
from dynamo_lite.capture.kernels.layout_questions import CONTIGUOUS_RESULTS, COPIES_OR_VIEWS
from dynamo_lite.symbolic_shapes.expressions.expr import ONE, Int
from dynamo_lite.symbolic_shapes.torch_env import view_kernel
from dynamo_lite.symbolic_shapes.torch_env.broadcasting import ask_for_borders
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node.layout import QUESTIONS

aten = torch.ops.aten
_VIEWS = frozenset({aten.view.default, aten._unsafe_view.default, aten.view_as.default})


def ask(recorder: Any, question: str, tensor: Any, dims: Sequence[int] | None = None) -> None:
    """The program asks for a property of `tensor`'s layout ("contiguity", "layout", "strides", "offset").

    dims: the dimensions whose strides it reads; None for all of them.
    """
    fake = recorder.known_fake(tensor)
    number = recorder.input_number(fake) if type(fake) is FakeTensor else None
    if number is not None and recorder.levels.nodes_of(fake)[:1] == [recorder.input_nodes[number]]:
        for dim in (None,) if dims is None or question != "strides" else dims:
            recorder.layout.ask(question, number, dim)
        return
    found = _sources(recorder, fake)
    if found is None:
        recorder.layout.ask(question)
        return
    if question == "offset" and not (type(fake.storage_offset()) is int and fake.storage_offset() == 0):
        ask(recorder, "strides", tensor)  # a view begins at a multiple of a stride
    for one in found.inputs:
        recorder.layout.ask(question, one)
    for one in found.copied_inputs:
        recorder.layout.ask("layout" if question == "strides" else question, one)
    if recorder.env is not None and question != "offset":
        for node in found.copies:
            ask_to_copy(recorder.env, node)


def asked_for_base(recorder: Any, tensor: torch.Tensor) -> None:
    """The program checks whether a tensor is a view, which for `reshape` depends on its argument's layout."""
    if not recorder.layout.chooses or recorder.layout.is_input(tensor):
        return
    fake = recorder.known_fake(tensor)
    ask(recorder, "layout", fake)
    found = _sources(recorder, fake) if recorder.env is not None else None
    for node in found.nodes if found is not None else ():
        if _copies(recorder.env, node):
            ask_to_copy(recorder.env, node)


def tried(recorder: Any, func: Any, args: Sequence[Any]) -> None:
    """An operator whose error depends on layout is called, or has failed, and the program goes on if it fails."""
    fake = recorder.known_fake(args[0])
    ask(recorder, "layout", fake)
    env: TorchShapeEnv | None = recorder.env
    if env is None or not _is_symbolic(fake) or _is_contiguous(env, fake):
        return
    sizes, strides = _layout(env, fake)
    if func not in _VIEWS:
        ask_for_borders(env, fake.shape)
    elif (shape := _viewed_as(env, sizes, getattr(args[1], "shape", args[1]))) is not None:
        ask_to_view(env, sizes, strides, shape)


def _viewed_as(env: TorchShapeEnv, sizes: list[Int], shape: Sequence[Any]) -> list[Int] | None:
    """The sizes of a view, with -1 filled in; None if the number of elements is not right in the example."""
    wanted = [env.unwrap(size) for size in shape]
    holes = [at for at, size in enumerate(wanted) if size.as_constant() == -1]
    elements = math.prod(sizes, start=ONE)
    given = math.prod((size for at, size in enumerate(wanted) if at not in holes), start=ONE)
    numbers = env.hint_of(elements), env.hint_of(given)
    if None in numbers or len(holes) > 1 or not numbers[1] or numbers[0] % numbers[1]:
        return None
    for at in holes:
        wanted[at] = env.core.simplify(elements // given)
    return wanted


@dataclass
class _Sources:
    """inputs: the numbers of the inputs. copied_inputs: of those behind a copy. nodes: what computes the tensor, up to
    reshapes that copy and operators whose results are contiguous. copies: these reshapes."""

    inputs: set[int] = field(default_factory=set)
    copied_inputs: set[int] = field(default_factory=set)
    nodes: list[fx.Node] = field(default_factory=list)
    copies: list[fx.Node] = field(default_factory=list)


def _sources(recorder: Any, fake: torch.Tensor) -> _Sources | None:
    """What lays out a tensor; None if that is not known."""
    found = _Sources()
    start = recorder.levels.nodes_of(fake)
    if not start or not _follow(recorder, start, found.nodes, found.inputs, found.copies):
        return None
    behind = [argument for node in found.copies for argument in node.all_input_nodes]
    return found if _follow(recorder, behind, [], found.copied_inputs) else None


def _follow(
    recorder: Any, start: Iterable[fx.Node], nodes: list[fx.Node], inputs: set[int], copies: list[fx.Node] | None = None
) -> bool:
    """Adds what lays out the values of `start`; past copies too, if they are not collected. False if a part is not
    known. `nodes` and `copies` are those of the graphs that are being written: what a sub-graph does depends on facts
    of its own."""
    levels, calls = recorder.levels, Calls(recorder.levels)
    numbers = {node: number for number, node in enumerate(recorder.input_nodes)}
    todo, seen = [Value(node) for node in start], set[Value]()
    while todo:
        value = todo.pop()
        node, call = value
        if value in seen or node.target in CONTIGUOUS_RESULTS or not _holds_tensors(node):
            continue
        seen.add(value)
        if node in numbers:
            inputs.add(numbers[node])
            nodes.append(node)
        elif node.op == "placeholder" and call is None:
            outside = levels.captured_by(node)
            if outside is None and not any(lifted.node is node for lifted in recorder.lifted):
                return False  # what an iteration is given, or an earlier call has left
            todo += map(Value, levels.nodes_of(outside)) if outside is not None else ()
        elif call is not None or copies is None or not _copies(recorder.env, node) or _is_contiguous_call(node):
            nodes += [node] if call is None else []
            todo += calls.behind(value)
        else:
            copies.append(node)
    return True


def _is_contiguous_call(node: fx.Node) -> bool:
    return node.target is aten.contiguous.default


def _holds_tensors(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return value is None or any(isinstance(one, torch.Tensor) for one in _values(value))


def _values(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _tensors(node: fx.Node) -> Iterator[torch.Tensor]:
    return (one for one in _values(node.meta.get("val")) if isinstance(one, torch.Tensor))


def _copies(env: TorchShapeEnv | None, node: fx.Node) -> bool:
    """Whether a node copies its argument if all sizes are 2 or more, and may view it otherwise."""
    if env is None or node.target not in COPIES_OR_VIEWS or not isinstance(node.args[0], fx.Node):
        return False
    argument, result = node.args[0].meta.get("val"), node.meta.get("val")
    if not isinstance(argument, torch.Tensor) or not isinstance(result, torch.Tensor) or not _is_symbolic(argument):
        return False
    return not view_kernel.is_view(*_layout(env, argument), [env.unwrap(size) for size in result.shape])


def _is_symbolic(tensor: Any) -> bool:
    return bool(getattr(tensor, "_has_symbolic_sizes_strides", False))


def _is_contiguous(env: TorchShapeEnv, tensor: torch.Tensor) -> bool:
    """Whether the strides are the products of the sizes, for all sizes."""
    if tensor.layout is not torch.strided or not _is_symbolic(tensor):
        return True
    sizes, strides = _layout(env, tensor)
    return all(one is other for one, other in zip(strides, view_kernel.contiguous_strides(sizes)))


def _layout(env: TorchShapeEnv, tensor: torch.Tensor) -> tuple[list[Int], list[Int]]:
    sizes, strides = ([env.unwrap(number) for number in part] for part in (tensor.shape, tensor.stride()))
    return sizes, strides


def ask_to_copy(env: TorchShapeEnv, node: fx.Node) -> None:
    """Demands that a reshape, or `contiguous`, copies or views its argument as in the example."""
    argument: Any = node.args[0]
    sizes, strides = _layout(env, argument.meta["val"])
    ask_to_view(env, sizes, strides, [env.unwrap(size) for size in node.meta["val"].shape])


def ask_to_view(env: TorchShapeEnv, sizes: list[Int], strides: list[Int], shape: list[Int]) -> None:
    """Demands that memory with this layout can be viewed as `shape`, or not, as in the example. (Sizes of data are left
    to run time, as by the kernel.)"""
    if any(env.hint_of(size) is None for size in (*sizes, *strides, *shape)):
        return
    with env.exactly():
        if sizes == shape:
            bool(env.wrap(QUESTIONS["is_contiguous"](sizes, strides)))
        else:
            view_kernel.asks_to_view(env, sizes, strides, shape)
