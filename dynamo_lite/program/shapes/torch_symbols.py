"""From sizes of our environment to sizes of torch's: the last step before a dynamic program is an ExportedProgram.

torch's own passes (run_decompositions, the serializer, AOTInductor, the ONNX exporter) continue to trace with the
values in `node.meta`: they need torch's ShapeEnv behind the sizes, not ours. So each value is made again: a torch
symbol of the same name per free symbol, with range and hint, expressions of those, FakeTensors of a new FakeTensorMode.
The symbols are declared as torch's deserializer does it (torch/_export/serde/serialize.py, `_parse_sym_expr`).

No size is compared on the way: torch's decisions by the example could not be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import sympy
import torch
from torch import fx

from dynamo_lite.capture import CaptureError
from dynamo_lite.capture.fakes import wrapper_subclasses
from dynamo_lite.program._torch import (
    CapturedTraceback,
    DivideByKey,
    FakeTensor,
    FakeTensorMode,
    ShapeEnv,
    SLoc,
    TensorMetadata,
    ValueRanges,
    ValueRangesSLoc,
    in_kernel_invocation_manager,
    no_python_dispatcher,
    resize_storage_bytes_,
)
from dynamo_lite.symbolic_shapes.expressions.expr import Int, Node, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import Float
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval
from dynamo_lite.symbolic_shapes.expressions.quotients import written_size
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import ToSympy
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.heads import NotConvertible
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_node._torch_dynamo_config import environment_alone, settings_alone
from dynamo_lite.symbolic_shapes.torch_node.ranges import int_ranges
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import TORCH
from dynamo_lite.torch_internals._torch_fake import device_of, make_fake
from dynamo_lite.torch_internals._torch_tensors import _conj, _neg_view

_NOTHING: Mapping[Any, Any] = MappingProxyType({})
_NOWHERE = SLoc(None, None)

MOST_OPERANDS = 20_000
"""Expressions that are longer are refused: torch's own code takes minutes for them."""


@dataclass
class Materialised:
    """The parts of a dynamic program: torch's environment, and the range of each of its symbols."""

    shape_env: ShapeEnv
    fake_mode: FakeTensorMode
    range_constraints: dict[sympy.Symbol, ValueRanges]


def rematerialise(
    graphs: Iterable[fx.Graph],
    env: TorchShapeEnv,
    *,
    images: Mapping[Symbol, Int] = _NOTHING,
    ranges: Mapping[Symbol, Interval] | None = None,
) -> Materialised:
    """Rewrites the metadata of all nodes (val, tensor_meta, unbacked_bindings) in place.

    Args:
        graphs: the program's graph and all its sub-graphs (`all_graphs`): they share one environment.
        images: the symbols that an equality eliminates, and their values (`Solution.guard_set.images`).
        ranges: the range of each remaining symbol (`Solution.ranges`); by default that in `env`.
    Raises CaptureError for a value that torch's metadata cannot hold.
    """
    symbols = _Symbols(env, images, dict(ranges or {}))
    values = Values(symbols)
    for graph in graphs:
        for node in graph.nodes:
            with symbols.as_declared() if node.op == "placeholder" else nullcontext():
                values.rewrite(node.meta)
    return Materialised(symbols.shape_env, values.fake_mode, symbols.range_constraints())


def all_graphs(graph: fx.Graph, modules: Mapping[str, torch.nn.Module]) -> Iterator[fx.Graph]:
    """The graph, and those of the GraphModules among `modules` with all that they hold."""
    yield graph
    for module in modules.values():
        for part in module.modules():
            if isinstance(part, fx.GraphModule):
                yield part.graph


class Translation(Protocol):
    """Sizes of one environment as sizes of another one, which is torch's."""

    shape_env: ShapeEnv

    def of(self, value: Any) -> Any:
        """The SymInt, SymFloat or SymBool (or number)."""

    def binding(self, symbol: sympy.Symbol) -> sympy.Symbol | None:
        """The name of an unbacked symbol that a node binds; None if it is not a symbol any more."""


class _Symbols:
    """Expressions of ours as torch's: sympy over symbols that are declared in torch's ShapeEnv."""

    def __init__(self, env: TorchShapeEnv, images: Mapping[Symbol, Int], ranges: dict[Symbol, Interval]) -> None:
        self._env, self._images, self._ranges = env, images, ranges
        with environment_alone():
            self.shape_env = ShapeEnv(assume_static_by_default=True)
        self._declared: dict[Node, sympy.Symbol] = {}
        self._to_sympy = ToSympy(self._symbol, TORCH)
        self._memo: dict[Node, Any] = {}
        self._sizes: dict[Node, int] = {}
        self._hints: dict[Node, Any] = {}
        self._declares = False
        self._stack = CapturedTraceback.extract(skip=1)

    def of(self, value: Any) -> Any:
        """The SymInt, SymFloat or SymBool of torch's for one of ours; a number if the facts have made it one."""
        core = value.node.core
        found = self._memo.get(core)
        if found is None:
            found = self._memo[core] = self._make(core, value.node.pytype)
        return found

    def _make(self, core: Any, pytype: type) -> Any:
        expr = self.expr(core)
        if pytype is bool:
            is_known = expr in (sympy.true, sympy.false)
            return bool(expr) if is_known else self.shape_env.create_symboolnode(expr)
        hint = self._env.hint_of(core, self._hints)
        if expr.is_number:  # sympy may leave operators of torch's in it that it cannot evaluate
            return pytype(expr) if hint is None else hint
        if pytype is float:
            return self.shape_env.create_symfloatnode(expr, hint=hint)
        return self.shape_env.create_symintnode(expr, hint=hint)

    @contextmanager
    def as_declared(self) -> Iterator[None]:
        """A context in which a size keeps its own symbol if the ranges of the symbols left may make it negative.

        A program that has an integer n and a tensor of x.shape[0] + n rows has a guard for that; torch's deserializer
        makes the tensor before it has an example of n, and checks whether a size is negative.
        """
        self._declares, self._memo, memo = True, {}, self._memo
        try:
            yield
        finally:
            self._declares, self._memo = False, memo

    def expr(self, core: Any) -> Any:
        """The sympy form in the symbols that are left."""
        expr = self._current(core)
        is_input = self._declares and isinstance(core, Int) and len(expr.free_symbols) > 1
        if is_input and self.shape_env.bound_sympy(expr).lower < 0:
            return self._to_sympy(core)
        return expr

    def _current(self, core: Any) -> Any:
        current = self._env.core.simplify(core)
        self._refuse_endless(current)
        if self._images and not self._images.keys().isdisjoint(symbols_of(current)):
            current = substitute(current, dict(self._images.items()))
        try:
            return self._to_sympy(current)
        except NotConvertible as error:
            what = f"the size {current} has no counterpart in torch's symbolic expressions"
            raise CaptureError("unbound-size", what, "compute it on tensors", {"size": str(current)}) from error

    def _refuse_endless(self, node: Any) -> None:
        """sympy and torch's serializer walk an expression as a tree, each shared part as often as it occurs."""
        count = written_size(node, self._sizes)
        if count > MOST_OPERANDS:
            size = f"an expression of {count} operands" if count < 10**9 else "an expression of over 10**9 operands"
            what = f"the size is {size} when it is written out, which torch's symbolic expressions have to be"
            raise CaptureError("unbound-size", what, "compute it on tensors", {"size": size})

    def binding(self, symbol: sympy.Symbol) -> sympy.Symbol | None:
        """An unbacked symbol of ours (as sympy) as torch's; None if it has turned out to be something else.

        torch then takes the binding off as well (torch/export/_trace.py, `_replace_unbacked_bindings`).
        """
        node = self._env.symbols.from_sympy[symbol]
        expr = self.expr(node.as_int() if isinstance(node, Symbol) else node)
        return expr if expr is self._declared.get(node) else None

    def range_constraints(self) -> dict[sympy.Symbol, ValueRanges]:
        """The range of every symbol that a node mentions."""
        return {symbol: self.shape_env.var_to_range[symbol] for symbol in self._declared.values()}

    def _symbol(self, node: Node) -> sympy.Symbol:
        found = self._declared.get(node)
        if found is None:
            symbol = self._env.symbols(node)
            found = self._declared[node] = self._declare(node, symbol)
        return found

    def _declare(self, node: Any, symbol: sympy.Symbol) -> sympy.Symbol:
        shape_env = self.shape_env
        if isinstance(node, Float):
            self._declare_float(node, symbol)
            return symbol
        if node.hint is None:
            # The deserializer reads the number in an unbacked symbol's name.
            if not symbol.name[1:].isdigit():
                symbol = sympy.Symbol(f"u{self._free_number()}", integer=True)
            number = int(symbol.name[1:])
            shape_env.unbacked_symint_counter = max(shape_env.unbacked_symint_counter, number + 1)
            shape_env.unbacked_alloc_order[symbol] = number
            if node in self._env.size_like or node.size_like:
                shape_env.size_like.add(symbol)
        else:
            shape_env.add_backed_var_to_val(symbol, node.hint)
        lo, hi = self._ranges.get(node) or self._env.core.bounds(node.as_int())
        self._set_range(symbol, int_ranges(lo, hi))
        return symbol

    def _set_range(self, symbol: sympy.Symbol, vr: ValueRanges) -> None:
        # As constrain_symbol_range does it, which also looks for the user's line on the stack (and imports all of
        # torch.export for that).
        self.shape_env.var_to_range[symbol] = vr
        self.shape_env.var_to_range_sloc[symbol] = ValueRangesSLoc(_NOWHERE, _NOWHERE)
        self.shape_env.var_to_stack[symbol] = self._stack

    def _declare_float(self, node: Float, symbol: sympy.Symbol) -> None:
        shape_env = self.shape_env
        if node.hint is not None:
            shape_env.backed_var_to_val[symbol] = sympy.Float(node.hint)
        elif symbol.name.startswith("zuf") and symbol.name[3:].isdigit():
            number = int(symbol.name[3:])
            shape_env.unbacked_symfloat_counter = max(shape_env.unbacked_symfloat_counter, number + 1)
            shape_env.unbacked_alloc_order[symbol] = number
        self._set_range(symbol, ValueRanges.unknown())

    def _free_number(self) -> int:
        numbers = (s.name[1:] for s in self._env.symbols.from_sympy if s.name.startswith("u"))
        taken = {int(number) for number in numbers if number.isdigit()}
        taken |= {int(s.name[1:]) for s in self._declared.values() if s.name.startswith("u")}
        return max(taken, default=-1) + 1


class Values:
    """Metadata with sizes of ours as metadata with sizes of torch's. Values that nodes share stay shared."""

    def __init__(self, symbols: Translation) -> None:
        self.symbols = symbols
        with settings_alone():
            self.fake_mode = FakeTensorMode(shape_env=symbols.shape_env, export=True, allow_non_fake_inputs=True)
        self._tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # id: (the old one, kept alive; the new one)
        self._storages: dict[int, torch.Tensor] = {}
        self._metas: dict[int, tuple[TensorMetadata, TensorMetadata]] = {}

    def rewrite(self, meta: dict[str, Any]) -> None:
        """Replaces a node's metadata about its value."""
        if "val" in meta:
            meta["val"] = self.value(meta["val"])
        if "tensor_meta" in meta:
            meta["tensor_meta"] = self._tensor_meta(meta["tensor_meta"])
        bindings = meta.pop("unbacked_bindings", None)
        if bindings:
            kept = {self.symbols.binding(symbol): tuple(map(self._key, path)) for symbol, path in bindings.items()}
            kept.pop(None, None)
            if kept:
                meta["unbacked_bindings"] = kept

    def value(self, value: Any) -> Any:
        """A meta value; what holds no size stays as it is."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, SYMBOLIC_TYPES):
            return self.symbols.of(value)
        if isinstance(value, (tuple, list)):
            return _rebuilt(value, [self.value(part) for part in value])
        if isinstance(value, dict):
            return {key: self.value(part) for key, part in value.items()}
        return value

    def _key(self, key: Any) -> Any:
        return DivideByKey(self.value(key.divisor)) if isinstance(key, DivideByKey) else key

    def _tensor_meta(self, meta: Any) -> Any:
        if not isinstance(meta, TensorMetadata):
            is_nested = isinstance(meta, (tuple, list))
            return _rebuilt(meta, [self._tensor_meta(part) for part in meta]) if is_nested else meta
        found = self._metas.get(id(meta))
        if found is None:
            shape = torch.Size([self.value(size) for size in meta.shape])
            new = meta._replace(shape=shape, stride=tuple([self.value(stride) for stride in meta.stride]))
            found = self._metas[id(meta)] = (meta, new)
        return found[1]

    # -- tensors ---------------------------------------------------------------------------------------------------

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        found = self._tensors.get(id(tensor))
        if found is None:
            found = self._tensors[id(tensor)] = (tensor, self._copy(tensor))
        return found[1]

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        if wrapper_subclasses.is_wrapper(tensor):
            return self._wrapper(tensor)
        if type(tensor) is not FakeTensor:
            raise _unsupported(f"a {type(tensor).__qualname__}")
        if not tensor._has_symbolic_sizes_strides:
            with no_python_dispatcher(), in_kernel_invocation_manager(tensor.fake_mode):
                meta = torch.ops.aten.detach.default(tensor)
        elif tensor.layout is torch.strided and not tensor.is_quantized:
            meta = self._strided(tensor)
            meta = _conj(meta) if tensor.is_conj() else meta
            meta = _neg_view(meta) if tensor.is_neg() else meta
        else:
            raise _unsupported(f"a tensor of layout {tensor.layout}, or quantized,")
        new = make_fake(self.fake_mode, meta, device_of(tensor), tensor.requires_grad)
        if getattr(tensor, "_is_param", False):
            new._is_param = True
        return new

    def _wrapper(self, tensor: torch.Tensor) -> torch.Tensor:
        size, stride = [self.value(s) for s in tensor.shape], [self.value(s) for s in tensor.stride()]
        new = wrapper_subclasses.rebuilt(tensor, self._tensor, torch.Size(size), tuple(stride))
        return new.requires_grad_(tensor.requires_grad)

    def _strided(self, tensor: FakeTensor) -> torch.Tensor:
        """A meta tensor with these sizes. as_strided compares none of them; empty_strided makes 86 comparisons."""
        sizes, strides = [self.value(s) for s in tensor.shape], [self.value(s) for s in tensor.stride()]
        offset = self.value(tensor.storage_offset())
        with self.symbols.shape_env.suppress_guards():
            memory = self._memory(tensor)
            return torch.as_strided(memory, sizes, strides, offset)

    def _memory(self, tensor: FakeTensor) -> torch.Tensor:
        """A tensor over memory of the same size; tensors that shared memory share it again."""
        with no_python_dispatcher(), in_kernel_invocation_manager(tensor.fake_mode):
            storage = tensor.untyped_storage()
            key, nbytes = storage._cdata, storage.nbytes()
        bytes_ = self._storages.get(key)
        if bytes_ is None:
            bytes_ = self._storages[key] = torch.empty(0, dtype=torch.uint8, device="meta")
            resize_storage_bytes_(bytes_, self.value(nbytes))
        if tensor.dtype is torch.uint8:
            return bytes_
        return torch.empty(0, dtype=tensor.dtype, device="meta").set_(bytes_.untyped_storage(), 0, (0,), (1,))


def _rebuilt(value: Any, parts: list[Any]) -> Any:
    if hasattr(value, "_fields"):
        return type(value)(*parts)
    return type(value)(parts)


def _unsupported(what: str) -> CaptureError:
    return CaptureError(
        "symbolic-layout",
        f"{what} has symbolic sizes, which the metadata of an exported program cannot hold",
        "export with static shapes",
        {"what": what},
    )


__all__ = ["Materialised", "Translation", "Values", "all_graphs", "rematerialise"]
