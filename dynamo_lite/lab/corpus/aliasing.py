"""Aliases: views, inputs that share memory, outputs that are inputs or state, arguments written in place."""

from __future__ import annotations

import torch
from torch import nn

from dynamo_lite.lab.programs import Example, program, t


@program("an input that is returned as it is")
def input_returned() -> Example:
    return Example(lambda x: (x, x + 1), (t(3),))


@program("a view of an input is returned")
def view_returned() -> Example:
    return Example(lambda x: x.view(-1)[1:], (t(2, 3),))


@program("one tensor twice in the output")
def twice() -> Example:
    def forward(x: torch.Tensor) -> list[torch.Tensor]:
        y = x * 2
        return [y, y, y.t()]

    return Example(forward, (t(2, 3),))


@program("a buffer is returned")
def buffer_returned() -> Example:
    class Holder(nn.Module):
        b: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            self.b.add_(x)
            return self.b, x + 1

    return Example(Holder(), (t(3),))


@program("an argument written in place")
def argument_written() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1

    return Example(forward, (t(3),))


@program("an argument written through a view of it")
def view_written() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        x.t()[0].zero_()
        return x.sum()

    return Example(forward, (t(2, 3),))


@program("an item of an argument assigned")
def item_assigned() -> Example:
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x[0] = y
        return x * y

    return Example(forward, (t(2, 3), t(3)))


@program("two arguments that later are one tensor")
def one_tensor_twice() -> Example:
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x + y

    same = t(3)
    return Example(forward, (t(3), t(3)), also=[((same, same), {})])


@program("two arguments that are one tensor in the example and not later")
def two_tensors_later() -> Example:
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return y * 2

    same = t(3)
    return Example(forward, (same, same), also=[((t(3), t(3)), {})])


@program("two arguments that share memory")
def overlapping() -> Example:
    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.zero_()
        return y + 1

    base = t(4)
    return Example(forward, (base[:3], base[1:]))


@program("`is` between arguments decides")
def identity_decides() -> Example:
    same = t(3)
    return Example(lambda x, y: x if x is y else x + y, (t(3), t(3)), also=[((same, same), {})])


@program("a list that is passed in and appended to")
def list_appended() -> Example:
    def forward(x: torch.Tensor, kept: list[torch.Tensor]) -> torch.Tensor:
        kept.append(x * 2)
        return kept[0] + kept[-1]

    return Example(forward, (t(3), [t(3)]))


@program("a dict that is passed in and written")
def dict_written() -> Example:
    def forward(x: torch.Tensor, cache: dict[str, torch.Tensor]) -> torch.Tensor:
        cache["last"] = x + cache["last"]
        return cache["last"] * 2

    return Example(forward, (t(3), {"last": t(3)}))


@program("strides of outputs")
def strides() -> Example:
    return Example(lambda x: (x.t() * 2, x.permute(1, 0).contiguous(), torch.empty_like(x.t()).zero_()), (t(2, 3),))


@program("an argument of another layout in a later call")
def layout_later() -> Example:
    return Example(lambda x: x.view(-1) * 2, (t(3, 3),), also=[((t(3, 3).t(),), {})])


@program("is_contiguous decides")
def layout_decides() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.is_contiguous() else x * 3

    return Example(forward, (t(3, 3),), also=[((t(3, 3).t(),), {})])


@program("the data of an argument are set")
def data_set() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        x.data = x.data * 2
        return x + 1

    return Example(forward, (t(3),))
