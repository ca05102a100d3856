"""Inputs: which sizes of a real tensor become symbols, and its strides in terms of them.

`TensorPolicy` has a policy per dimension; torch's own contexts (StatelessSymbolicContext with DimDynamic) are accepted
too. Strides follow from sizes as in torch (`_compute_symbolic_stride`): the stride of a dimension is the product of the
sizes inside it, if that equals the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch

from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended, Int, Symbol, as_int
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_symbol
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_env.expressions import Expressions
from dynamo_lite.symbolic_shapes.torch_node._torch import (
    DimDynamic,
    FakeTensor,
    FakeTensorMode,
    Source,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
    SymbolicContext,
    int_oo,
    no_dispatch,
)
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment


@dataclass(frozen=True)
class Fresh:
    """A new symbol for this dimension, in [lo, hi]. An unbacked one hides the example's value.

    `lo` is 1 unless the caller wants tensors without elements admitted: with 0, strides are products of max(1, size).
    """

    name: str | None = None
    lo: Extended = 1
    hi: Extended = INF
    unbacked: bool = False
    origin: Origin | None = None


DimPolicy = None | Fresh | Int
"""None: the size as it is. Fresh: a new symbol. Int: an expression over existing symbols (a shared one, 2*d + 1)."""


@dataclass(frozen=True)
class TensorPolicy(SymbolicContext):
    """A policy for each dimension of one tensor. `source`: where the program finds the tensor again, if known."""

    sizes: Sequence[DimPolicy]
    source: Any = None


def create_symbolic_tensor(mode: FakeTensorMode, tensor: torch.Tensor, policy: Sequence[DimPolicy],
                           source: Any = None, is_whole: bool = False) -> FakeTensor:
    """A fake of `tensor` in `mode` (whose shape_env is ours) with symbols where `policy` wants them.

    `source` is a torch Source: where a size is found again at run time. `is_whole`: it is a plain tensor that is all of
    its memory, which no other input shares. ValueError if the policy does not fit the tensor (its rank, a range, an
    expression with another value), or the tensor is fake already.
    """
    if isinstance(tensor, FakeTensor):
        raise ValueError("a fake tensor has no sizes of its own to start from: make it from the real one")
    if len(policy) != tensor.dim():
        raise ValueError(f"a policy for {len(policy)} dimensions and a tensor with {tensor.dim()}")
    if is_whole:
        return _created(mode, tensor, TensorPolicy(tuple(policy)), source)
    # As an input a view is a tensor like others: its base is not part of the program. (The memory is: tensors that
    # share it have fakes that share it.)
    real = tensor.data if tensor._is_view() else tensor
    # Building the meta tensor compares the sizes of its memory; later comparisons by the program are recorded.
    with mode.shape_env.suppress_guards():  # type: ignore[union-attr]
        fake = mode.from_tensor(real, static_shapes=False, source=source, symbolic_context=TensorPolicy(tuple(policy)))
    if real is not tensor:
        fake.requires_grad_(tensor.requires_grad)
        mode.fake_tensor_converter.set_tensor_memo(tensor, fake)
    # torch may take the value of a scalar tensor for an input (from_real_tensor): data is not a size.
    fake.item_memo = None
    return fake


def _created(mode: FakeTensorMode, tensor: torch.Tensor, policy: TensorPolicy, source: Any) -> FakeTensor:
    """The result of torch's converter for a plain tensor, without its description in 60 fields and TorchDynamo."""
    env: Any = mode.shape_env
    dynamic = [size is not None for size in policy.sizes]
    with env.suppress_guards():
        sizes, strides, _ = env._create_symbolic_sizes_strides_storage_offset(
            tuple(tensor.shape), tensor.stride(), 0, dynamic, source, symbolic_context=policy
        )
        fake = strided_fake(mode, sizes, strides, tensor.dtype, tensor.device)
    fake.requires_grad_(tensor.requires_grad)
    return fake


def strided_fake(
    mode: FakeTensorMode, sizes: Sequence[Any], strides: Sequence[Any], dtype: torch.dtype, device: torch.device
) -> FakeTensor:
    """A fake tensor with memory of its own. Comparisons of the memory's size by its meta tensor are not recorded."""
    with mode.shape_env.suppress_guards(), no_dispatch():  # type: ignore[union-attr]
        meta = torch.empty_strided(tuple(sizes), tuple(strides), dtype=dtype, device="meta")
        return FakeTensor(mode, meta, device)


class InputSymbols:
    """Makes the symbols of inputs, and remembers where the program finds them again."""

    def __init__(self, env: Environment, expressions: Expressions) -> None:
        self._env = env
        self.core, self.settings = expressions.core, env.settings
        self.wrap, self.hint_of, self.to_sympy = expressions.wrap, expressions.hint_of, expressions.to_sympy
        self._node_from_sympy = expressions.create_symintnode
        self.size_like: set[Symbol] = set()
        self.var_to_sources: dict[Any, list[Any]] = {}
        self.source_to_var: dict[str, Any] = {}
        self._duck: dict[int, Int] = {}
        self.floats_created = 0

    # -- one symbol ----------------------------------------------------------------------------------------------
    def _new_size(self, value: int, fresh: Fresh, source: Any) -> Int:
        origin = fresh.origin or Origin("declaration", note=_name(source))
        if fresh.unbacked:
            node = self.core.unbacked(name=fresh.name, lo=max(fresh.lo, 0), hi=fresh.hi, size_like=True,
                                      source=source, origin=origin)
        else:
            node = self.core.backed(value, name=fresh.name, lo=fresh.lo, hi=fresh.hi, source=source, origin=origin)
        symbol = node.as_atom()
        assert isinstance(symbol, Symbol)
        self.size_like.add(symbol)
        return self._sourced(node, source)

    def _sourced(self, node: Any, source: Any) -> Any:
        symbol = self.to_sympy(node)
        if isinstance(symbol, sympy.Symbol) and source is not None:
            self.var_to_sources.setdefault(symbol, []).append(source)
            self.source_to_var[_name(source)] = symbol
        return node

    def _size(self, value: int, policy: DimPolicy, source: Any) -> Int:
        if policy is None:
            return as_int(value)
        if isinstance(policy, Fresh):
            return self._new_size(value, policy, source)
        if self.hint_of(policy) not in (value, None):
            raise ValueError(f"{_name(source)} is {value}, and {policy} is {self.hint_of(policy)} in the example")
        return self._sourced(policy, source)

    def input_size(self, value: int, policy: DimPolicy, source: Any) -> Int:
        """The expression for an integer input that is `value` in the example. ValueError if the policy has another."""
        return self._size(value, policy, source)

    def input_integer(self, lo: Any, hi: Any, source: Any) -> Int:
        """A symbol for an integer input that is not a size, and that the example does not decide."""
        node = self.core.unbacked(lo=lo, hi=hi, source=source, origin=Origin("declaration", note=_name(source)))
        return self._sourced(node, source)

    # -- one tensor ----------------------------------------------------------------------------------------------
    def layout_of_input(
            self, ex_size: Sequence[int], ex_stride: Sequence[int], ex_storage_offset: int,
            is_dim_dynamic: Sequence[bool], source: Any, *, symbolic_context: Any = None,
            hint_overrides: Any = None) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
        """Sizes, strides and offset for a tensor of this size, as the meta converter needs them."""
        if hint_overrides:
            raise NotImplementedError("hints other than the example's sizes")
        policies = self._policies(ex_size, symbolic_context)
        sizes = [self._size(int(value), policy, _dim_source(source, "SIZE", i))
                 for i, (value, policy) in enumerate(zip(ex_size, policies))]
        symbolic = any(size.as_constant() is None for size in sizes)
        strides = self._strides(sizes, ex_size, ex_stride, symbolic, source)
        offset = as_int(int(ex_storage_offset))
        if symbolic and ex_storage_offset:
            offset = self._new_size(int(ex_storage_offset), Fresh(lo=0), _dim_source(source, "STORAGE_OFFSET", None))
        return tuple(map(self.wrap, sizes)), tuple(map(self.wrap, strides)), self.wrap(offset)

    def _strides(self, sizes: list[Int], ex_size: Sequence[int], ex_stride: Sequence[int],
                 symbolic: bool, source: Any) -> list[Int]:
        strides: dict[int, Int] = {}
        explained: dict[int, Int] = {}
        # From the innermost dimension outwards; of equal strides the rightmost first, as in [(1, 1), (1, 0)].
        for i in sorted(range(len(sizes)), key=lambda i: (ex_stride[i], -i)):
            value = int(ex_stride[i])
            follows = i != len(sizes) - 1 and value == ex_size[i + 1] * ex_stride[i + 1]
            if value in explained:
                strides[i] = explained[value]
            elif (value in (0, 1) and not follows) or not symbolic:
                strides[i] = as_int(value)
            else:
                strides[i] = self._new_size(value, Fresh(lo=0), _dim_source(source, "STRIDE", i))
            explained[int(ex_size[i]) * value] = sizes[i] * strides[i]
        return [strides[i] for i in range(len(sizes))]

    def _policies(self, sizes: Sequence[int], context: Any) -> list[DimPolicy]:
        if isinstance(context, TensorPolicy):
            return list(context.sizes)
        if context is None:
            return [self._torch_policy(int(v), DimDynamic.DUCK, None) for v in sizes]
        if not isinstance(context, StatelessSymbolicContext):
            raise NotImplementedError(f"inputs described by a {type(context).__name__}")
        if context.shape_ids or context.unbacked_bounds:
            raise NotImplementedError("shape_ids and unbacked_bounds: use TensorPolicy")
        return [self._torch_policy(int(v), kind, constraint)
                for v, kind, constraint in zip(sizes, context.dynamic_sizes, context.constraint_sizes)]

    def _torch_policy(self, value: int, kind: Any, constraint: Any,
                      specialize: bool = True) -> DimPolicy:
        """torch's words for a dimension in ours. A duck-shaped one shares the symbol of the first of that size."""
        lo, hi = _constrained(constraint)
        if kind is DimDynamic.UNBACKED:
            return Fresh(lo=0 if constraint is None else lo, hi=hi, unbacked=True)
        zero_one = value in (0, 1) and specialize and self.settings.specialize_zero_one
        if kind is DimDynamic.STATIC or value < lo or zero_one:
            return None
        if kind is DimDynamic.DUCK and self.settings.duck_shape and constraint is None:
            if value not in self._duck:
                self._duck[value] = self._new_size(value, Fresh(lo=lo, hi=hi), None)
            return self._duck[value]
        return Fresh(lo=lo, hi=hi)

    # -- torch's entries for single symbols --------------------------------------------------------------------------
    def create_symbol(self, val: Any, source: Any, dynamic_dim: Any = DimDynamic.DUCK,
                      constraint_dim: Any = None, positive: bool | None = True,
                      do_not_specialize_zero_one: bool = False, symbolic_context: Any = None) -> Any:
        """A sympy symbol (or number) for an integer or float input."""
        if isinstance(val, float):
            return self.to_sympy(self._sourced(self._new_float(val), source))
        if not positive and dynamic_dim in (DimDynamic.DYNAMIC, DimDynamic.DUCK):
            node = self.core.backed(int(val), source=source, origin=self._env.where())
            return self.to_sympy(self._sourced(node, source))
        policy = self._torch_policy(int(val), dynamic_dim, constraint_dim, not do_not_specialize_zero_one)
        return self.to_sympy(self._size(int(val), policy, source))

    def _new_float(self, value: float) -> Float:
        self.floats_created += 1
        return float_symbol(f"zf{self.floats_created - 1}", value)

    def create_unspecified_symbol(self, val: Any, source: Any,
                                  dynamic_dim: Any = DimDynamic.DUCK, constraint_dim: Any = None,
                                  symbolic_context: Any = None) -> Any:
        """As `create_symbol`, of any sign."""
        return self.create_symbol(val, source, dynamic_dim, constraint_dim, positive=None,
                                  do_not_specialize_zero_one=True, symbolic_context=symbolic_context)

    def create_unspecified_symint_and_symbol(self, value: int, source: Any,
                                             dynamic_dim: Any, excluded_value: int | None = None) -> Any:
        return self._node_from_sympy(self.create_unspecified_symbol(value, source, dynamic_dim))


def _constrained(constraint: Any) -> tuple[Extended, Extended]:
    if not isinstance(constraint, StrictMinMaxConstraint):
        return 1, INF
    lo, hi = constraint.vr.lower, constraint.vr.upper
    return (1 if lo == -int_oo else max(int(lo), 0)), INF if hi == int_oo else int(hi)


@dataclass(frozen=True)
class PropertySource(Source):
    """Where the program finds a size, a stride or the offset of an input: as TorchDynamo's TensorPropertySource, which
    takes the whole of TorchDynamo to import."""

    base: Any
    part: str
    index: int | None

    @property
    def _name_template(self) -> str:
        at = "" if self.index is None else f"[{self.index}]"
        return f"{_name(self.base)}.{_READ_BY[self.part]}(){at}"


_READ_BY = {"SIZE": "size", "STRIDE": "stride", "STORAGE_OFFSET": "storage_offset"}


def _dim_source(source: Any, kind: str, index: int | None) -> Any:
    return None if source is None else PropertySource(source, kind, index)


def _name(source: Any) -> str:
    return "" if source is None else getattr(source, "name", None) or str(source)
