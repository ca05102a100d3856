"""Operators that raise an error for some data: the classes, and the conditions on the arguments.

Found by calling each operator of torch's own list (torch.testing, op_db) with zeros, negative numbers, large numbers,
nan and infinities in place of its samples, and comparing (tests/capture/test_data_errors.py). A size that does not fit
is not in this table: it is known when the program is recorded, or asserted at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import torch

Kinds = frozenset[type[BaseException]]
Condition = Callable[[Sequence[Any], Mapping[str, Any]], bool]


class MayRaise(NamedTuple):
    """`kinds` are the exact classes. `asks` returns whether the error is possible for the given arguments."""

    kinds: Kinds
    asks: Condition


def _always(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return True


def _is_whole(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not (value.is_floating_point() or value.is_complex())


def _divides_whole_numbers(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Integers divided by a tensor of integers, rounded: zero is an error."""
    rounds = kwargs.get("rounding_mode", "floor") is not None
    numbers = [a for a in args[:2] if isinstance(a, torch.Tensor)]
    divisor = args[1] if len(args) > 1 else None
    return rounds and isinstance(divisor, torch.Tensor) and all(map(_is_whole, numbers)) and _is_no_float(args[0])


def _is_no_float(value: Any) -> bool:
    return not isinstance(value, float | complex | torch.SymFloat)


def _has_integer_indices(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """`x[i]`; not `x[mask]`, whose sizes must fit and whose data cannot fail."""
    indices = args[1] if len(args) > 1 else kwargs.get("indices", ())
    return any(isinstance(i, torch.Tensor) and i.dtype not in (torch.bool, torch.uint8) for i in indices)


_RUNTIME: Final = frozenset({RuntimeError})
_EITHER: Final = frozenset({RuntimeError, IndexError})
_DIVISION: Final = frozenset({RuntimeError, ZeroDivisionError})
_LINALG: Final = frozenset({RuntimeError, torch.linalg.LinAlgError})
_CUSTOM: Final = MayRaise(frozenset({BaseException}), _always)
"""A custom operator's kernel may raise anything."""
_OWN_NAMESPACES: Final = ("aten::", "prims::", "prim::", "_c10d_functional::", "c10d_functional::", "rngprims::",
                          "inductor_prims::", "inductor::", "profiler::", "quantized::", "sym::", "higher_order::",
                          "dynamo_lite::", "export::")  # fmt: skip


def _checks_errors(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """The `_ex` forms of torch.linalg raise only with `check_errors`."""
    return bool(kwargs.get("check_errors", args[-1] if args and isinstance(args[-1], bool) else False))


def _takes_tensor_bound(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """`normal` with a tensor of standard deviations."""
    return any(isinstance(a, torch.Tensor) for a in (*args[1:3], *kwargs.values()))


def _takes_order(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """`searchsorted` with a tensor of the indices that would sort."""
    return isinstance(kwargs.get("sorter"), torch.Tensor)


def _is_between_tensors(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return any(isinstance(a, torch.Tensor) for a in args[:2])


def _may_be_empty(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """A tensor of which only run time knows whether it has elements: there is no largest of none."""
    tensors = [value for value in (*args[:1], *kwargs.values()) if isinstance(value, torch.Tensor)]
    return any(_may_be_zero(size) for tensor in tensors for size in tensor.shape)


def _may_be_zero(size: Any) -> bool:
    if not isinstance(size, torch.SymInt) or size.node.has_hint():
        return False
    more: Any = size > 0
    return more is not True and (more is False or more.node.shape_env.decide_node(more.node) is not True)


def _holds(relation: Any) -> bool:
    """Whether a relation of sizes and numbers is known to hold. Nothing is asked of run time."""
    if not isinstance(relation, torch.SymBool):
        return bool(relation)
    return relation.node.shape_env.decide_node(relation.node) is True


def _is_number_of_data(value: Any) -> bool:
    return isinstance(value, torch.SymInt) and value.node.maybe_as_int() is None and not value.node.has_hint()


def _index_is_number_of_data(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """`x.select(dim, index)`, `x.select_scatter(source, dim, index)`: an index that may be out of range."""
    *_, dim, index = args
    if not _is_number_of_data(index):
        return False
    size = args[0].shape[dim]
    return not (_holds(index < size) and _holds(index >= -size))


def _may_give_negative_size(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """`x.expand(n)`"""
    return any(_is_number_of_data(size) and not _holds(size >= 0) for size in args[1])


def _cuts_by_numbers_of_data(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """`x.slice_scatter(source, dim, start, end)`: the source must have the size of the slice."""
    return any(map(_is_number_of_data, (*args[3:5], *kwargs.values())))


def _divides_by_number_of_data(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """An integer tensor divided by a number that may be zero."""
    return _is_whole(args[0]) and _is_number_of_data(args[1]) and not _holds(args[1] != 0)


def _has_exponent_of_data(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Integers to a power that may be negative."""
    return _is_whole(args[0]) and _is_number_of_data(args[1]) and not _holds(args[1] >= 0)


def _either(one: Condition, other: Condition) -> Condition:
    return lambda args, kwargs: one(args, kwargs) or other(args, kwargs)


_ROWS: tuple[tuple[Kinds, Condition, str], ...] = (
    (_LINALG, _always, """
        cholesky cholesky_inverse inverse linalg_cholesky linalg_cond linalg_eig linalg_eigh linalg_eigvals
        linalg_eigvalsh linalg_inv linalg_ldl_factor linalg_ldl_solve linalg_lstsq linalg_lu_factor linalg_lu_solve
        linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_norm linalg_pinv linalg_solve linalg_svd
        linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve lu_unpack matrix_power nuclear_norm pinverse svd
        _linalg_eigvals _linalg_eigh _linalg_svd
    """),
    (_LINALG, _checks_errors, """
        linalg_cholesky_ex linalg_inv_ex linalg_ldl_factor_ex linalg_lu_factor_ex linalg_solve_ex _linalg_solve_ex
    """),
    (_EITHER, _has_integer_indices, "index index_put index_put_ _index_put_impl_ _unsafe_index _unsafe_index_put"),
    (_EITHER, _always, """
        embedding embedding_bag _embedding_bag embedding_renorm_ gather take take_along_dim put put_ index_select
        index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_reduce index_reduce_ masked_scatter
        masked_scatter_ scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ one_hot nll_loss
        nll_loss_nd nll_loss2d nll_loss_forward cross_entropy_loss ctc_loss _ctc_loss multi_margin_loss
        multilabel_margin_loss multilabel_margin_loss_forward binary_cross_entropy multinomial bernoulli bernoulli_
        poisson binomial bincount histc histogram histogramdd cov quantile nanquantile repeat_interleave
        _pack_padded_sequence _pad_packed_sequence segment_reduce istft max_unpool2d max_unpool3d tensor_split
        sparse_coo_tensor _sparse_coo_tensor_with_dims_and_tensors sparse_csr_tensor sparse_compressed_tensor
        fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine
        quantize_per_tensor quantize_per_channel
        _assert_async _assert_scalar
    """),
    (_RUNTIME, _takes_order, "searchsorted"),
    (_RUNTIME, _takes_tensor_bound, "normal normal_"),
    (_RUNTIME, _is_between_tensors, "linspace logspace"),
    (_DIVISION, _either(_divides_whole_numbers, _divides_by_number_of_data), """
        div div_ divide divide_ floor_divide floor_divide_ remainder remainder_ fmod fmod_
    """),
    (_RUNTIME, _has_exponent_of_data, "pow pow_"),
    (_EITHER, _index_is_number_of_data, "select select_copy select_scatter"),
    (_RUNTIME, _may_give_negative_size, "expand expand_copy"),
    (_RUNTIME, _cuts_by_numbers_of_data, "slice_scatter"),
    (_EITHER, _may_be_empty, """
        max min amax amin aminmax argmax argmin kthvalue mode topk cummax cummin median nanmedian
    """),
)  # fmt: skip


class _Table(dict[str, MayRaise | None]):
    def __missing__(self, name: str) -> MayRaise | None:
        self[name] = found = None if name.startswith(_OWN_NAMESPACES) else _CUSTOM
        return found


TABLE: Final = _Table(
    {f"aten::{name}": MayRaise(kinds, asks) for kinds, asks, names in _ROWS for name in names.split()}
)
"""The qualified name of an operator → the errors that it may raise, or None."""
