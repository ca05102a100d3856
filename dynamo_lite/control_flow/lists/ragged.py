"""Iterations that append tensors of different lengths: `for i in range(0, n, 4): outs.append(f(x[i : i + 4]))`.

The loop's operator stacks the items. Each tensor is therefore padded with zeros to the greatest length, and its own
length is stored separately; torch.cat drops the padding again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from dynamo_lite.control_flow.emission import is_unknown, note_shared
from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.states import BeginsAgain, Side, cannot_merge
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Rel, eq, le, lt
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute

RAGGED = "a list of tensors whose lengths differ supports only append, torch.cat along these, loops, len and outs[-1]"
_UNKNOWN = "iterations of a loop add tensors to a list that vary in length, and they have no known greatest length"
_OF_DATA = "iterations of a loop add tensors to a list whose size is data"
_UNBOUNDED = "iterations add as many items to a list as data say, and no fact bounds their number"
_BOUNDS = 32


class Ragged(NamedTuple):
    """The items of one `append` in all iterations. dim: the dimension in which their lengths differ; most: the greatest
    length, an int or a size from before the loop; length: the item's, in terms of the iteration number `at`; are_full:
    whether every item but that of iteration `count - 1` has the greatest length, `count` being the loop's."""

    dim: int
    most: Any
    length: Int
    at: Any
    count: Any
    are_full: bool

    def padded(self, tracer: Forking, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Return (the padded tensor, its length as a float: torch's scan has no gradient if it returns integers).

        A tensor that is long enough is cut off: torch runs the iteration again and has no expression for the length of
        each slice.
        """
        shape = [*tensor.shape]
        shape[self.dim] = self.most
        longer = torch.cat([tensor, torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)], self.dim)
        whole = longer.narrow(self.dim, 0, self.most).clone(memory_format=torch.contiguous_format)
        note_shared(tracer, whole, [tensor])
        return [whole, torch.full((), tensor.shape[self.dim], dtype=torch.float64)]

    def total(self, tracer: Forking, iterations: Any) -> Any:
        """Return the total length of all items; None if it depends on each length. iterations: the iteration count."""
        env = tracer.recorder.env
        assert env is not None
        if not self.are_full or not _holds(tracer, iterations == self.count) or not _holds(tracer, iterations >= 1):
            return None
        last = self._last(env, self.length)
        for bound in (last, *_bounds(last)):  # the shortest equal expression
            if env.core.decide(eq(last, bound)).verdict:
                last = bound
        return env.wrap(env.core.simplify(last + env.unwrap(self.most) * (env.unwrap(self.count) - 1)))

    def _last(self, env: Any, length: Int) -> Int:
        return substitute(length, {_symbol(env, self.at): env.unwrap(self.count) - 1})


class Lengths(NamedTuple):
    """The lengths of all items that were added: `own` is (iterations,), the length of each."""

    ragged: Ragged
    own: torch.Tensor

    def joined(self, tracer: Forking, rows: torch.Tensor) -> torch.Tensor:
        """Return torch.cat of the items along the dimension in which they differ. rows: (iterations, *shape)."""
        dim, iterations = self.ragged.dim, rows.shape[0]
        flat = along(rows, dim)
        total = self.ragged.total(tracer, iterations)
        if total is not None:
            return flat.narrow(dim, 0, total)
        flags = torch.arange(rows.shape[dim + 1], device=self.own.device) < self.own.unsqueeze(1)
        at = flags.flatten().nonzero().squeeze(1)
        tracer.recorder.guarded(torch._check, at.shape[0] <= flat.shape[dim])
        return flat.index_select(dim, at if at.device == rows.device else at.to(rows.device))

    def last(self, tracer: Forking, rows: torch.Tensor) -> torch.Tensor:
        """The last item, which is there."""
        env, ragged = tracer.recorder.env, self.ragged
        assert env is not None
        length = substitute(ragged.length, {_symbol(env, ragged.at): env.unwrap(rows.shape[0]) - 1})
        return rows[-1].narrow(ragged.dim, 0, env.wrap(env.core.simplify(length)))


def along(rows: torch.Tensor, dim: int) -> torch.Tensor:
    """torch.cat of the rows along their `dim`. (Copied before: torch's decompositions query whether flatten copies.)"""
    moved = rows if dim == 0 else rows.movedim(0, dim).clone(memory_format=torch.contiguous_format)
    return moved.flatten(dim, dim + 1)


class RaggedItems(BeginsAgain):
    """The items that iterations add to a list, by the `index` of their append, differ in length."""

    def __init__(self, owner: Any, index: int, ragged: Ragged) -> None:
        super().__init__()
        self.key, self.ragged = (id(owner), index), ragged


Known = dict[tuple[int, int], Ragged]
"""By the id of a list, and the index of the append in an iteration."""


def check(tracer: Forking, side: Side, owner: Any, index: int, tensor: torch.Tensor, at: Any, count: Any) -> None:
    """Raises RaggedItems for a tensor, added in iteration `at`, whose length depends on the iteration number; facts
    about the iteration hold. count: the number of iterations, if known. Raises CannotMerge if there is no greatest
    length, or if one of its sizes is created within the iteration: that size differs in each."""
    env = tracer.recorder.env
    if env is None:
        return
    of_iteration: frozenset[Any] = symbols_of(env.unwrap(at)) if type(at) is torch.SymInt else frozenset()
    for size in tensor.shape:
        own: frozenset[Any] = symbols_of(env.unwrap(size)) - of_iteration if type(size) is torch.SymInt else frozenset()
        if any(symbol.unbacked and symbol not in side.symbols for symbol in own):
            cannot_merge("branch-unsupported", why=_OF_DATA)
    if type(at) is not torch.SymInt:
        return
    symbol = _symbol(env, at)
    lengths = {dim: env.unwrap(size) for dim, size in enumerate(tensor.shape) if type(size) is torch.SymInt}
    varying = [(dim, length) for dim, length in lengths.items() if symbol in symbols_of(length)]
    if not varying:
        return
    dim, length = varying[0]
    most = _most(env, length, symbol, count)
    if len(varying) > 1 or most is None:
        cannot_merge("branch-unsupported", why=_UNKNOWN)
    are_full = count is not None and _are_full(env, length, most, at, count)
    raise RaggedItems(owner, index, Ragged(dim, env.wrap(most), length, at, count, are_full))


def evened(
    tracer: Forking, side: Side, rows: torch.Tensor, flags: torch.Tensor, at: Any, iterations: Any
) -> list[torch.Tensor]:
    """The rows that iteration `at` of `iterations` adds, filled up to the greatest number of them, with flags that are
    false for the others. Raises CannotMerge if there is no greatest number."""
    env, count = tracer.recorder.env, rows.shape[0]
    if env is None or type(count) is not torch.SymInt:
        return [rows, flags]
    of_iteration: frozenset[Any] = symbols_of(env.unwrap(at)) if type(at) is torch.SymInt else frozenset()
    found = symbols_of(env.unwrap(count))
    own = {symbol for symbol in found if symbol in of_iteration or (symbol.unbacked and symbol not in side.symbols)}
    if not own:
        return [rows, flags]
    last = {symbol: env.unwrap(iterations) - 1 for symbol in of_iteration} if iterations is not None else {}
    most = _most_of(env, env.unwrap(count), own | of_iteration, last)
    if most is None:
        cannot_merge("branch-unsupported", why=_UNBOUNDED)
    room, made = env.wrap(most), []
    for tensor in (rows, flags):
        none = torch.zeros((room, *tensor.shape[1:]), dtype=tensor.dtype, device=tensor.device)
        longer = torch.cat([tensor, none])
        made.append(longer.narrow(0, 0, room).clone(memory_format=torch.contiguous_format))
    note_shared(tracer, made[0], [rows])
    return made


def _most_of(env: Any, count: Int, own: set[Any], last: dict[Any, Int]) -> Int | None:
    """An upper bound of `count` without the symbols `own`: by a fact about it, where `last` has the values of the last
    iteration, or by its range."""
    found = [count]
    for fact in env.core.facts:
        if isinstance(fact.relation, Rel) and fact.relation.kind == "le" and own & symbols_of(fact.relation):
            found.append(count - fact.relation.poly)
    for one in found:
        for bound in map(env.core.simplify, (one, *_bounds(one), substitute(one, last))):
            if not own & symbols_of(bound) and env.core.decide(le(count, bound)).verdict:
                return bound
    greatest = env.core.bounds(count)[1]
    return env.unwrap(int(greatest)) if greatest < math.inf else None


def _most(env: Any, length: Int, symbol: Any, count: Any) -> Int | None:
    """Return the greatest length, as an expression without the iteration number."""
    bound = env.core.bounds(length)[1]
    if bound < math.inf:
        return env.unwrap(int(bound))
    found = [*_bounds(length)]
    if count is not None:
        found += [substitute(length, {symbol: env.unwrap(end)}) for end in (count - 1, 0)]
    for bound in map(env.core.simplify, found):
        is_outer = symbol not in symbols_of(bound) and not is_unknown(env.wrap(bound))
        if is_outer and env.core.decide(le(length, bound)).verdict:
            return bound
    return None


def _bounds(length: Int) -> list[Int]:
    """Upper bounds of an expression with `min`: one of the arguments in the place of each."""
    found = [length]
    for atom in length.atoms():
        if isinstance(atom, Apply) and atom.op == "max" and len(found) < _BOUNDS:  # min(a, b) is -max(-a, -b)
            arguments = [argument for argument in atom.args if isinstance(argument, Int)]
            found += [substitute(bound, {atom: argument}) for bound in found for argument in arguments]
    return found[1:]


def _are_full(env: Any, length: Int, most: Int, at: Any, count: Any) -> bool:
    mark = env.core.snapshot()
    try:
        origin = Origin("user line", note="the counter of a loop")
        env.core.assume(lt(env.unwrap(at) + 1, env.unwrap(count)), origin, "axiom")
        return env.core.decide(eq(length, most)).verdict is True
    except ContradictoryFacts:
        return True
    finally:
        env.core.rollback(mark)


def _symbol(env: Any, at: Any) -> Any:
    return env.unwrap(at).as_atom()


def _holds(tracer: Forking, answer: Any) -> bool:
    env = tracer.recorder.env
    return answer if type(answer) is bool else env is not None and env.decide_node(answer.node) is True
