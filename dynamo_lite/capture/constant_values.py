"""The data of tensors that a program computes from constants alone: `torch.full((n, n), -inf).triu(1)` of a fixed n.

A decision on such a tensor (`if mask.any():`, `int(steps.max())`) is the same in each call. Its data is found by
running the operators that made it, in the order of the graph, on the CPU: factories with constant arguments, literals
(`torch.tensor([1, 2])`), inputs whose value is a condition of the program (features/constants), and values computed
from these, writes in place included. A value has no such data if it depends on another input, a parameter, a buffer, an
outer constant, random numbers, uninitialized memory, a symbolic size, a sub-graph or an operator that is not torch's
own (a collective, a custom one). In a sub-graph, a tensor from around has the data that it has there.

A number computed from sizes, `torch.div(x.shape[1], 8, rounding_mode="trunc")`, has the value of an expression of them:
`item()` returns the expression. An unbacked number would leave later computations with it undecided.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import FakeTensor, OpOverload, _disable_current_modes
from dynamo_lite.capture.alias_analysis import INPUTS, AliasAnalysis, draws
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.graph_inputs import InputLifter
from dynamo_lite.capture.graph.lifting import Lifted, LiftedKind
from dynamo_lite.capture.kernels import packed_sequences
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction

_MOST_ELEMENTS = 1 << 22
"""Of one tensor: a causal mask of 2,048 positions."""
_MOST_NODES = 1_000


_UNFILLED = frozenset({"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"})
_FILLS = frozenset({"fill_", "zero_", "copy_"})

READS_DATA = frozenset(
    {
        torch.ops.aten.is_nonzero.default,
        torch.ops.aten.item.default,
        torch.ops.aten._local_scalar_dense.default,
        torch.ops.aten.equal.default,
    }
)
"""The operators that turn data into a Python number."""
_OF_ONE = frozenset({torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default})


class ConstantValues:
    """The constant data of one recording. `eagerly` calls as eager does: its exception is the program's error."""

    def __init__(self, recorder: InputLifter, eagerly: Callable[..., Any]) -> None:
        self.given: dict[fx.Node, torch.Tensor] = {}
        """The placeholders of inputs that have the same value in each call, which no operator has changed."""
        self._recorder = recorder
        self._eagerly = eagerly
        # Where a walk ends: writes can make a constant vary, never the reverse.
        self._varying: weakref.WeakSet[fx.Node] = weakref.WeakSet()

    def vary(self, fake: FakeTensor, node: fx.Node) -> None:
        """The data of a tensor, which `node` holds now, counts as not constant from now on."""
        self._varying.add(node)
        fake.constant = None

    def of(self, fake: torch.Tensor) -> torch.Tensor | None:
        """The tensor that the program has here, if its data is the same in each call; a tensor of its own."""
        node = self._recorder.level.nodes.get(fake)
        if node is None or node.graph is not self._recorder.level.graph or self._needed(node) is None:
            return None
        analysis = AliasAnalysis(self._recorder)
        needed = self._needed(node, analysis)
        if needed is None or _may_write_through_another(needed, analysis):
            return None
        return self._run(needed, node)

    def answer(self, func: OpOverload, args: Sequence[Any]) -> Any:
        """The result of an operator of READS_DATA for constant data; None if the data is not constant."""
        if func in _OF_ONE and not isinstance(args[0], torch.Tensor):
            return args[0]  # of a number that C++ has made a tensor of: Python is given the number
        known = []
        for arg in args:
            value = self.of(arg) if isinstance(arg, torch.Tensor) else torch.as_tensor(arg)
            if value is None:
                _forget(args)
                return self._size(args[0]) if func in _OF_ONE else None
            known.append(value)
        with _disable_current_modes(), DisableTorchFunction():
            return self._eagerly(func, *known)

    def listed(self, fake: torch.Tensor) -> Any:
        """`tolist()` of constant data, without an operator for each number; None if the data is not constant."""
        value = self.of(fake)
        if value is None:
            return None
        with _disable_current_modes(), DisableTorchFunction():
            return value.tolist()

    def _size(self, fake: torch.Tensor) -> Any:
        """The value of a tensor that is computed from sizes; None for others."""
        node = self._recorder.level.nodes.get(fake)
        return number_of(node) if node is not None and node.graph is self._recorder.level.graph else None

    def _needed(self, node: fx.Node, analysis: AliasAnalysis | None = None) -> set[fx.Node] | None:
        """The nodes to run for the data of `node`, those that write to its memory included where the analysis is given;
        None if one of them is not constant."""
        writers: dict[Hashable, list[fx.Node]] = {}
        for writer, roots in analysis.writes.items() if analysis is not None else ():
            for root in roots:
                writers.setdefault(root, []).append(writer)
        needed: set[fx.Node] = set()
        todo = [node]
        while todo:
            current = todo.pop()
            if current in needed:
                continue
            if current in self._varying or len(needed) == _MOST_NODES or not self._is_constant(current):
                self._varying |= {current, node}
                return None
            needed.add(current)
            todo += current.all_input_nodes
            for root in analysis.roots[current] if analysis is not None else ():
                todo += writers.get(root, ())
        return needed

    def _is_constant(self, node: fx.Node) -> bool:
        """Whether a node is constant if its arguments are."""
        if node.op == "placeholder":
            return self._outer(node) is not None
        if node.op != "call_function":
            return False
        if node.target is operator.getitem:  # one of the tensors of unbind, split, ...: of a value computed here
            return isinstance(node.args[0], fx.Node) and bool(list(_tensors(node)))
        if not computes(node):
            return False
        return all(tensor.device.type == "cpu" and tensor.numel() <= _MOST_ELEMENTS for tensor in _tensors(node))

    def _outer(self, node: fx.Node) -> torch.Tensor | None:
        """The data of a placeholder, as it is when the graph begins: of an input that has the same value in each call,
        a literal, or a tensor of the graph around."""
        if node in self.given:
            return self.given[node]
        if self._recorder.levels:
            fake = self._recorder.levels.captured_by(node)
            if not isinstance(fake, torch.Tensor):
                return None
            with self._recorder.levels.around():
                return self.of(fake)
        literal = self._literal(node)
        return None if literal is None else literal.tensor

    def _literal(self, node: fx.Node) -> Lifted | None:
        lifted = next((entry for entry in self._recorder.lifted if entry.node is node), None)
        if lifted is None or lifted.kind is not LiftedKind.CONSTANT:
            return None
        return None if storage_key(lifted.fake) in self._recorder.constant_storages else lifted

    def _run(self, needed: set[fx.Node], wanted: fx.Node) -> torch.Tensor | None:
        values: dict[fx.Node, Any] = {}
        with _disable_current_modes(), DisableTorchFunction(), torch.no_grad():
            for node in self._recorder.level.graph.nodes:
                if node not in needed:
                    continue
                if node.op == "placeholder":
                    given = self._outer(node)
                    values[node] = of_its_own(given) if given is not None else None
                else:
                    args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
                    try:
                        values[node] = node.target(*args, **kwargs)
                    except Exception:  # eager raises it in the call
                        return None
                if not _agrees(values[node], node):
                    return None
        return values[wanted] if isinstance(values[wanted], torch.Tensor) else None


def _may_write_through_another(needed: set[fx.Node], analysis: AliasAnalysis) -> bool:
    """Whether there is a write to one of several inputs, two of which a caller may give the same memory."""
    inputs = [node for node in needed if node.op == "placeholder" and INPUTS in analysis.roots[node]]
    return len(inputs) > 1 and any(INPUTS in analysis.writes.get(node, ()) for node in needed)


def of_its_own(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of a strided tensor, with the same strides, on as little memory as these need."""
    if tensor.numel() == 0:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    memory = tensor.detach().as_strided((extent,), (1,)).clone()
    return memory.as_strided(tensor.shape, tensor.stride(), 0)


def _forget(args: Sequence[Any]) -> None:
    """The copy of its data that torch keeps with a fake tensor is that of the first round of a loop, or of before an
    operator whose result was known without running it: data that is not constant here is not read from it."""
    for arg in args:
        if isinstance(arg, FakeTensor):
            arg.constant = None


def computes(node: fx.Node) -> bool:
    """Whether an operator of torch's own makes tensors of constant sizes, whose data depends on its arguments alone."""
    if not isinstance(node.target, OpOverload) or node.target.namespace != "aten" or draws(node):
        return False
    if node.target._opname in _UNFILLED and not _is_filled(node):
        return False
    tensors = list(_tensors(node))
    with DisableTorchFunction():  # the program does not make this call
        sizes = [size for tensor in tensors for size in (*tensor.shape, *tensor.stride())]
    return bool(tensors) and all(type(size) is int or size.node.maybe_as_int() is not None for size in sizes)


def _is_filled(node: fx.Node) -> bool:
    """Whether all of the new memory is written before any other use of it."""
    first = next(iter(node.users), None)
    if first is None or not isinstance(first.target, OpOverload):
        return False
    return first.target._opname in _FILLS and first.args[0] is node


def _tensors(node: fx.Node) -> Iterator[torch.Tensor]:
    val = node.meta.get("val")
    for item in val if isinstance(val, (tuple, list)) else (val,):
        if isinstance(item, torch.Tensor):
            yield item


def _agrees(value: Any, node: fx.Node) -> bool:
    """Whether an operator returned the same metadata as recorded: no region of autocast changed it."""
    found = [item for item in (value if isinstance(value, (tuple, list)) else (value,)) if item is not None]
    expected = list(_tensors(node))
    return len(found) == len(expected) and all(
        isinstance(one, torch.Tensor)
        and (one.dtype, one.shape, one.stride()) == (other.dtype, _plain(other.shape), _plain(other.stride()))
        for one, other in zip(found, expected)
    )


def _plain(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Sizes as numbers: a size of a result that depends on constant data is a symbol with a value."""
    return tuple(size if type(size) is int else size.node.maybe_as_int() for size in sizes)


# -- made of sizes -----------------------------------------------------------------------------------------------------

_aten = torch.ops.aten
_MOST_STEPS = 8


def number_of(node: fx.Node | None, steps: int = _MOST_STEPS) -> Any:
    """The size, or the expression of sizes, that a tensor of int64 without dimensions holds; None for other tensors."""
    value = node.meta.get("val") if node is not None else None
    rule = _OF_SIZES.get(node.target) if node is not None else None
    if rule is None or not steps or not isinstance(value, torch.Tensor) or value.dim() or value.dtype != torch.int64:
        return None
    assert node is not None
    if any(_is_written(user) for user in node.users):
        return None
    return rule(node, steps - 1)


def _is_written(user: fx.Node) -> bool:
    """Whether an operator may write to its memory, or gives what shows it."""
    if not isinstance(user.target, OpOverload):
        return True
    return any(argument.alias_info is not None for argument in user.target._schema.arguments)


def _operand(value: Any, steps: int) -> Any:
    """The number of an argument: an int, a size, or a tensor that holds one."""
    if type(value) is int:
        return value
    if not isinstance(value, fx.Node):
        return None
    held = value.meta.get("val")
    return held if type(held) is torch.SymInt else number_of(value, steps)


def _made(at: int) -> Callable[[fx.Node, int], Any]:
    return lambda node, steps: _operand(node.args[at], steps)


def _computed(function: Callable[[Any, Any], Any]) -> Callable[[fx.Node, int], Any]:
    def rule(node: fx.Node, steps: int) -> Any:
        if node.kwargs.get("alpha", 1) != 1 or len(node.args) != 2:
            return None
        one, other = (_operand(argument, steps) for argument in node.args)
        return None if one is None or other is None else function(one, other)

    return rule


def _divided(node: fx.Node, steps: int) -> Any:
    """By a positive constant; rounded to zero only for numbers that are non-negative for all sizes."""
    dividend, divisor = _operand(node.args[0], steps), node.args[1]
    mode = node.kwargs.get("rounding_mode")
    if dividend is None or type(divisor) is not int or divisor < 1 or mode not in ("trunc", "floor"):
        return None
    natural = dividend >= 0
    if mode == "trunc" and not (natural is True or _is_known(natural)):
        return None
    return dividend // divisor


def _selected(node: fx.Node, steps: int) -> Any:
    """`batch_sizes[0]` of a packed sequence."""
    tensor, dim, index = node.args
    return packed_sequences.first_of(tensor) if dim == index == 0 and isinstance(tensor, fx.Node) else None


def _is_known(answer: Any) -> bool:
    return type(answer) is torch.SymBool and answer.node.shape_env.decide_node(answer.node) is True


_OF_SIZES: dict[Any, Callable[[fx.Node, int], Any]] = {
    _aten.scalar_tensor.default: _made(0),
    _aten.full.default: _made(1),
    _aten.select.int: _selected,
    _aten.div.Tensor_mode: _divided,
    _aten.add.Tensor: _computed(lambda a, b: a + b),
    _aten.sub.Tensor: _computed(lambda a, b: a - b),
    _aten.mul.Tensor: _computed(lambda a, b: a * b),
}
