"""Tables that exist before the export, and that the program replaces by longer ones for longer inputs.

`if n > self.table.shape[0]: self.table = make(n)`: the held table is one that a call with some number of rows would
have stored, if the program makes the same values for that number. That is computed, and compared with the held table.
Then the program is traced with tables without rows in these places, so that it makes them in each call, and a second
trace determines whether it is the same from any state after a call (kept_tables.py). The held one is such a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload, _enter_autocast
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, symbols_of
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.later_calls.free_sizes import symbolic_within
from dynamo_lite.tracing.later_calls.places import Place, place_of
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

if TYPE_CHECKING:
    from dynamo_lite.capture.comparison.fingerprint import Fingerprint


class NotHeld(Exception):
    """A held table is not one that a call would have stored."""


@dataclass(frozen=True)
class HeldTables:
    """The places that hold such tables, and their lengths, with their values and those that a trace finds there.

    Attributes:
        rows: each place as (place, the held value, the value that a trace finds there).
        sizes: the sizes of the call that would have stored the held values, by the names of their symbols.
    """

    rows: tuple[tuple[Place, Any, Any], ...]
    sizes: dict[str, int]

    def place(self) -> None:
        """Before a trace: tables without rows."""
        for place, _, empty in self.rows:
            place.put(empty)

    def put_back(self) -> None:
        """Restore the held values after it."""
        for place, held, _ in self.rows:
            place.put(held)

    def has(self, change: Change) -> bool:
        """Whether a change is one of such a place."""
        return any(place.is_of(change) for place, _, _ in self.rows)

    def as_held(self, change: Change) -> Change:
        """Return the change of the held value."""
        return change._replace(old=next(held for place, held, _ in self.rows if place.is_of(change)))

    def is_admitted(self, env: Any) -> bool:
        """Whether a call that the program takes would have stored the held values."""
        values = {symbol: self.sizes[name] for name, symbol in env.core.symbols.items() if name in self.sizes}
        bounds = {symbol: env.core.bounds(symbol.as_int()) for symbol in values}
        if not all(bounds[symbol][0] <= size <= bounds[symbol][1] for symbol, size in values.items()):
            return False
        guards = [fact.relation for fact in env.core.facts if fact.kind == "guard"]
        return all(evaluate(guard, values) for guard in guards if symbols_of(guard) <= values.keys())

    def settle(self, recorder: Any) -> bool:
        """Replace the inputs of the graph for such tables by the held ones, after such a trace. False if the program
        uses one."""
        held = {id(b): a for _, one, other in self.rows for a, b in zip(_tensors(one), _tensors(other))}
        for lifted in recorder.lifted:
            tensor = held.get(id(lifted.tensor))
            if tensor is None:
                continue
            if lifted.node.users:
                return False
            lifted.tensor, lifted.fake = tensor, recorder.fakes.of(tensor)
            lifted.node.meta["val"] = lifted.fake
        return True


def held_tables(changes: Sequence[Change], prints: Fingerprint) -> HeldTables | None:
    """Return the tables that one run has replaced by others of its sizes, if it would have stored the old values for
    other sizes. None if there are none, or other changes that a later call may see.

    To be called outside of the recording, once the heap is as before.
    """
    places = [place_of(change) for change in changes]
    if not changes or not all(symbolic_within([change.new]) for change in changes):
        return None
    try:
        found = _OtherSizes(prints)
        for change in changes:
            found.compare_sizes(change.old, change.new)
        sizes = found.solved()
        for change in changes:
            found.compare(change.old, change.new, sizes)
        empty = [_empty(change.old, change.new) for change in changes]
    except Exception:  # torch's, of the operators at these sizes, as well
        return None
    rows = [(place, change.old, value) for place, change, value in zip(places, changes, empty) if place is not None]
    if len(rows) != len(changes):
        return None
    return HeldTables(tuple(rows), {symbol.name: size for symbol, size in sizes.items()})


class _OtherSizes:
    """Computes the operators of a recording for other sizes than the example's."""

    def __init__(self, prints: Fingerprint) -> None:
        self._prints, self._recorder = prints, prints.recorder
        self._env: Any = self._recorder.env
        self._equations: list[tuple[Any, int]] = []
        if any(node.target is _enter_autocast for node in self._recorder.level.graph.nodes):
            raise NotHeld

    # -- for which sizes

    def compare_sizes(self, old: Any, new: Any) -> None:
        """Record the sizes that give `new` the sizes of `old`."""
        if type(new) is tuple and type(old) is tuple and len(new) == len(old):
            for one, other in zip(old, new):
                self.compare_sizes(one, other)
        elif type(new) is torch.SymInt and type(old) is int:
            self._equations.append((self._expression(new), old))
        elif is_fake(new) and isinstance(old, torch.Tensor) and old.dim() == new.dim():
            self._equations += [(self._expression(size), there) for there, size in zip(old.shape, new.shape)
                                if type(size) is torch.SymInt]  # fmt: skip
        elif new is not old:
            raise NotHeld

    def solved(self) -> dict[Symbol, int]:
        """The sizes for which all of that holds."""
        values: dict[Symbol, int] = {}
        left = [*self._equations]
        while left:
            row = next((row for row in left if len(symbols_of(row[0]) - values.keys()) <= 1), None)
            if row is None:
                raise NotHeld
            left.remove(row)
            expression, value = row
            for symbol in symbols_of(expression) - values.keys():
                at_zero, at_one = (evaluate(expression, {**values, symbol: number}) for number in (0, 1))
                if at_one == at_zero:
                    raise NotHeld
                values[symbol] = (value - at_zero) // (at_one - at_zero)
            if evaluate(expression, values) != value:
                raise NotHeld
        return values

    # -- with which values

    def compare(self, old: Any, new: Any, sizes: dict[Symbol, int]) -> None:
        """Whether `new` would be `old` for these sizes. Raises NotHeld if not."""
        if type(new) is tuple:
            for one, other in zip(old, new):
                self.compare(one, other, sizes)
        elif is_fake(new) and not _are_identical(old, self.value(new, sizes)):
            raise NotHeld

    def value(self, new: Any, sizes: dict[Symbol, int]) -> Any:
        """Return a value of the run for these sizes."""
        if type(new) is tuple:
            return tuple(self.value(item, sizes) for item in new)
        if type(new) is torch.SymInt:
            return evaluate(self._expression(new), sizes)
        return self._computed(new, sizes) if is_fake(new) else new

    def _computed(self, tensor: torch.Tensor, sizes: dict[Symbol, int]) -> Any:
        recorder, node = self._recorder, self._recorder.node_of(tensor)
        needed = self._prints.needed_for(tensor)
        if needed is None or not isinstance(node, fx.Node):
            raise NotHeld
        found: dict[fx.Node, Any] = {e.node: e.tensor for e in recorder.lifted if e.node in needed}
        with torch.no_grad():
            for each in recorder.level.graph.nodes:
                if each in needed and each not in found:
                    found[each] = self._run(each, found, sizes)
        return found[node]

    def _run(self, node: fx.Node, found: dict[fx.Node, Any], sizes: dict[Symbol, int]) -> Any:
        val = node.meta.get("val")
        if isinstance(val, SYMBOLIC_TYPES):
            return self._number(val, sizes)
        if not isinstance(node.target, OpOverload):
            raise NotHeld

        def given(argument: Any) -> Any:
            if not isinstance(argument, fx.Node):
                return self._number(argument, sizes)
            if argument in found:
                return found[argument]
            like = argument.meta["val"]  # of which no data is read
            shape, strides = ([self._number(size, sizes) for size in row] for row in (like.shape, like.stride()))
            return torch.empty_strided(shape, strides, dtype=like.dtype, device=like.device)

        args, kwargs = fx.node.map_aggregate((node.args, node.kwargs), given)
        return node.target(*args, **kwargs)

    def _number(self, size: Any, sizes: dict[Symbol, int]) -> Any:
        return evaluate(self._expression(size), sizes) if isinstance(size, SYMBOLIC_TYPES) else size

    def _expression(self, size: Any) -> Any:
        return self._env.core.simplify(self._env.unwrap(size))


def _empty(old: Any, new: Any) -> Any:
    """Return the held value, without rows. It need not be the value after any call: one trace begins there."""
    if type(new) is tuple:
        return tuple(map(_empty, old, new))
    if not is_fake(new):
        return -1 if type(new) is torch.SymInt else old
    shape = [0 if type(size) is torch.SymInt else size for size in new.shape]
    return torch.empty(shape, dtype=old.dtype, device=old.device)


def _are_identical(one: Any, other: Any) -> bool:
    """Whether two tensors are the same to their last bit, in the same layout."""
    if one.requires_grad or type(one) is not torch.Tensor or one.layout is not torch.strided:
        return False
    if (one.dtype, one.device, one.shape, one.stride()) != (other.dtype, other.device, other.shape, other.stride()):
        return False
    bits: Callable[[Any], Any] = lambda tensor: tensor.detach().contiguous().reshape(-1).view(torch.uint8)  # noqa: E731
    return torch.equal(bits(one), bits(other))


def _tensors(value: Any) -> Iterator[Any]:
    if type(value) is tuple:
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, torch.Tensor):
        yield value
