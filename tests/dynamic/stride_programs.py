"""Programs that ask for the strides of a tensor behind a branch or a loop that may have laid it out otherwise."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F


def padded(x: Any) -> Any:
    missing = -x.shape[0] % 4
    if missing:
        x = F.pad(x, (0, 0, 0, missing))
    return x


def factor(x: Any) -> Any:
    x = padded(x)
    return x * x.stride(0)


def inner_stride(x: Any) -> Any:
    x = x.t().contiguous()
    missing = -x.shape[1] % 4
    if missing:
        x = F.pad(x, (0, missing))
    return x * 2 + x.stride(0)


def concatenated(x: Any) -> Any:
    missing = -x.shape[0] % 4
    x = x[None] * 1
    if missing:
        x = torch.cat([x, x.new_zeros(1, missing, 3)], 1)
    return x + x.stride(0)


def contiguous_first(x: Any) -> Any:
    x = padded(x)
    if not x.is_contiguous():
        x = x.contiguous()
    return x.view(-1, 12) * 2


def overlapping_chunks(x: Any) -> Any:
    x = x.unsqueeze(0) * 2
    missing = -x.shape[1] % 4
    if missing:
        x = F.pad(x, (0, 0, 0, missing))
    size, stride = list(x.size()), list(x.stride())
    return x.as_strided((1, size[1] // 4 * 2 - 1, 4, 3), (stride[0], stride[1] * 2, *stride[1:])) + stride[0]


def overlapping_chunks_of_data(x: Any) -> Any:
    """Longformer's chunks, and a branch on data."""
    y = overlapping_chunks(x)
    if y.sum() > 0:
        return y * 2
    else:
        return y - 1


def two_paddings(x: Any) -> Any:
    """A mask and its tensor, by conditions of their own."""
    mask = x.t().contiguous()
    if mask.shape[1] % 4:
        mask = F.pad(mask, (0, -mask.shape[1] % 4))
    x = padded(x)
    return x * mask.t() * mask.stride(0) + x.stride(0)


def doubled_row(x: Any) -> Any:
    if x.shape[0] == 1:
        x = torch.cat([x, x])
    return x.reshape(-1) + x.stride(0)


def order(x: Any) -> Any:
    x = padded(x)
    return x * 1 + x.dim_order()[0]


CONTIGUOUS = (
    *(factor, inner_stride, concatenated, contiguous_first, overlapping_chunks, overlapping_chunks_of_data),
    *(two_paddings, doubled_row, order),
)
"""Both sides are contiguous: the strides follow from the sizes."""


def equal_strides(x: Any) -> Any:
    """Both sides have strides (1, 3), whatever the sizes; the result of torch.cond is contiguous."""
    x = x.t() * 2
    if x.shape[1] > 4:
        x = x[:, :4]
    return x * 1 + x.stride(0)


def equal_strides_of_data(x: Any) -> Any:
    y = x.t() * 2
    if x.sum() > 0:
        y = y + 1
    return y * 1 + y.stride(0)


def is_contiguous_of_data(x: Any) -> Any:
    y = x.t() * 2
    if x.sum() > 0:
        y = y - 1
    return y * 3 if y.is_contiguous() else y


def columns_of_data(x: Any) -> Any:
    y = torch.ones(3, 5)[:, :2] * x.sum()
    z = torch.ones(3, 5)[:, :2]
    if x.sum() > 0:
        z = z[:, :]
    else:
        z = y
    return z.stride(0) + x


def equal_strides_of_loop(x: Any) -> Any:
    y = x.t() * 2
    while y.sum() < 100:
        y = y * 2 + 1
    return y * 1 + y.stride(0)


def equal_strides_of_iterations(x: Any) -> Any:
    y = x.t() * 2
    for i in range(x.shape[0]):
        y = y + x[i][:, None]
    return y * 1 + y.stride(0)


OTHERWISE = (
    *(equal_strides, equal_strides_of_data, is_contiguous_of_data, columns_of_data, equal_strides_of_loop),
    *(equal_strides_of_iterations,),
)
"""The result of the operator may be laid out otherwise than eager's."""
