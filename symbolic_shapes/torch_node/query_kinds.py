"""The origin of a query of an environment: the program, the kernel of an operator, or a Python function of torch's own.

It determines whether a decision needs a guard (see env.py).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.torch_node._torch import OpOverload

PROGRAM, EXACT, ORDINARY, LAYOUT_ONLY, CHOICE = range(5)
KERNELS = {
    # The result has another rank for a size of 1.
    "aten::squeeze": EXACT, "aten::squeeze_": EXACT, "aten::squeeze_copy": EXACT,
    # The result's sizes are given or follow by arithmetic: every question about 0 and 1 is about strides.
    **dict.fromkeys((
        "aten::view", "aten::_unsafe_view", "aten::view_as", "aten::reshape", "aten::_reshape_alias",
        "aten::reshape_as", "aten::flatten", "aten::contiguous", "aten::clone", "aten::to", "aten::_to_copy",
        "aten::copy_"), LAYOUT_ONLY),
    # Broadcasting: a size of 1 that is expanded to 1 stays as it is; two different symbols are checked to be equal.
    **dict.fromkeys((
        "aten::index", "aten::expand", "aten::expand_as", "aten::broadcast_to", "aten::broadcast_tensors"),
        LAYOUT_ONLY),
    # One formula gives the result's sizes for all sizes of the arguments. (A kernel's conditions on sizes 0 and 1 apply
    # at run time too.)
    **dict.fromkeys((
        "aten::linear", "aten::matmul", "aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::embedding",
        "aten::einsum", "aten::tensordot", "aten::bilinear", "aten::inner", "aten::outer", "aten::ger", "aten::cumsum",
        "aten::cumprod", "aten::cummax", "aten::cummin", "aten::logcumsumexp", "aten::tril", "aten::triu",
        "aten::diag_embed", "aten::nll_loss", "aten::nll_loss_nd", "aten::nll_loss2d", "aten::nll_loss_forward",
        "aten::nll_loss2d_forward", "aten::cross_entropy_loss", "aten::fft_fft", "aten::fft_ifft", "aten::fft_rfft",
        "aten::fft_irfft", "aten::_fft_r2c", "aten::_fft_c2r", "aten::_fft_c2c", "aten::stft", "aten::istft",
        "aten::scaled_dot_product_attention", "aten::layer_norm", "aten::native_layer_norm", "aten::group_norm",
        "aten::native_group_norm", "aten::rms_norm", "aten::softmax", "aten::_softmax", "aten::log_softmax",
        "aten::_log_softmax", "aten::dropout", "aten::zeros_like", "aten::ones_like", "aten::empty_like",
        "aten::complex", "aten::polar", "aten::full_like", "aten::rand_like", "aten::randn_like",
        "aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d", "aten::adaptive_avg_pool3d",
        "aten::_adaptive_avg_pool2d", "aten::_adaptive_avg_pool3d", "aten::adaptive_max_pool1d",
        "aten::adaptive_max_pool2d"), LAYOUT_ONLY),
    # They call `guard_or_false` for sizes of any kind (a batch of 16 or more) to choose a backend and memory format.
    **dict.fromkeys((
        "aten::convolution", "aten::_convolution", "aten::convolution_backward", "aten::convolution_overrideable",
        "aten::mkldnn_convolution"), CHOICE),
}
"""How an operator's kernel compares sizes with 0 and 1; ORDINARY if it is not here. EXACT: as the program would.
ORDINARY: it marks queries for which either outcome will do. LAYOUT_ONLY: either always will. CHOICE: as LAYOUT_ONLY,
and either outcome of `guard_or_false` and `guard_or_true` will do for any query, not only about 0 and 1 (the example's
is taken). Pointwise operators broadcast: they are LAYOUT_ONLY. Operators called by an operator are of its kind."""


@functools.cache
def kernel_kind(func: Any) -> int | None:
    """The kind of an operator's kernel by the table or its tags, else None."""
    if not isinstance(func, OpOverload):
        return None
    kind = KERNELS.get(func._schema.name)
    return LAYOUT_ONLY if kind is None and torch.Tag.pointwise in func.tags else kind


class QueryContext:
    """Tracks the origin of queries.

    Attributes:
        operator: the OpOverload whose kernel is running, None while the program itself does.
        inside: the kind of that kernel, PROGRAM while the program itself runs.
        is_exact: whether questions about layout are the program's own (`exactly`).
        in_torch: whether a Python function of torch's own runs (`inside_torch`).
        copies: whether `contiguous()` makes a copy where only other sizes than the example's need one (`copying`).
        stores: whether `x[...] = value` runs, and has found no size that differs (`storing`).
    """

    def __init__(self) -> None:
        self.operator: Any = None
        self.inside = PROGRAM
        self.is_exact = self.in_torch = self.lays_out = self.copies = self.stores = False

    @contextmanager
    def inside_operator(self, func: Any = None) -> Iterator[None]:
        """A context in which queries are those of an operator's kernel (an OpOverload), not the program's."""
        before: int = self.inside
        caller = self.operator
        self.operator = func if func is not None else caller
        kind = kernel_kind(func)
        self.inside = kind if kind is not None else ORDINARY if before == PROGRAM else before
        try:
            yield
        finally:
            self.inside = before
            self.operator = caller

    @contextmanager
    def inside_torch(self) -> Iterator[None]:
        """A context in which a Python function of torch's own runs. Its queries in Python decide its path."""
        before, self.in_torch = self.in_torch, True
        try:
            yield
        finally:
            self.in_torch = before

    @contextmanager
    def storing(self) -> Iterator[None]:
        """A context in which the binding of `x[...] = value` runs. It compares the sizes of the place with the value's;
        where they are equal it calls `copy_`, which checks them again."""
        self.stores = True
        try:
            with self.inside_torch():
                yield
        finally:
            self.stores = False

    @contextmanager
    def laying_out(self) -> Iterator[None]:
        """A context in which queries outside of kernels are about the strides of a result: the answer for large sizes
        will do, and the caller continues if there is none."""
        before, self.lays_out = self.lays_out, True
        try:
            yield
        finally:
            self.lays_out = before

    @contextmanager
    def exactly(self) -> Iterator[None]:
        """Within, questions about memory layout are the program's own (`x.is_contiguous()`)."""
        before, self.is_exact = self.is_exact, True
        try:
            yield
        finally:
            self.is_exact = before

    @contextmanager
    def copying(self) -> Iterator[None]:
        """Within, `contiguous()` makes a copy unless no size needs one."""
        before, self.copies = self.copies, True
        try:
            yield
        finally:
            self.copies = before

    @property
    def in_kernel(self) -> bool:
        """Whether the query is made by the kernel of an operator."""
        return self.inside != PROGRAM

    @property
    def asking(self) -> tuple[int, bool]:
        """The origin of a query, as far as answers depend on it: a kind of kernel or the program, and `exactly`."""
        return self.inside, self.is_exact
