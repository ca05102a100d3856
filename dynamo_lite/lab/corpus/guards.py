"""What an export takes for constant: later calls in which a Python value, a dtype, a structure or a mode is another.

A program may reject such a call. One that answers it has to answer as eager does.
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.lab.programs import Args, Example, program, t


@program("an int argument")
def int_argument() -> Example:
    return Example(lambda x, n: x * n, (t(3), 2), also=[((t(3), 3), {}), ((t(3), 2.0), {})])


@program("a bool argument, and 1 in its place")
def bool_argument() -> Example:
    also: list[Args] = [((t(3), False), {}), ((t(3), 1), {})]
    return Example(lambda x, up: x + 1 if up is True else x - 1, (t(3), True), also=also)


@program("a string argument")
def string_argument() -> Example:
    return Example(lambda x, how: getattr(x, how)(), (t(3), "sin"), also=[((t(3), "cos"), {})])


@program("a float argument, with -0.0 for 0.0")
def negative_zero() -> Example:
    return Example(lambda x, f: x / f, (torch.ones(3), 0.0), also=[((torch.ones(3), -0.0), {})])


@program("an argument that later is None")
def optional() -> Example:
    def forward(x: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        return x if bias is None else x + bias

    return Example(forward, (t(3), t(3)), also=[((t(3), None), {})])


@program("a tensor of another dtype")
def dtype() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.dtype is torch.float32 else x.float()

    return Example(forward, (t(3),), also=[((t(3).double(),), {}), ((torch.arange(3),), {})])


@program("a tensor of another rank")
def rank() -> Example:
    return Example(lambda x: x.sum(-1) * x.dim(), (t(2, 3),), also=[((t(2, 2, 3),), {}), ((t(3),), {})])


@program("a list of another length")
def list_length() -> Example:
    def forward(xs: list[torch.Tensor]) -> torch.Tensor:
        return torch.stack(xs).sum(0) * len(xs)

    return Example(forward, ([t(3), t(3)],), also=[(([t(3)],), {}), (([t(3), t(3), t(3)],), {})])


@program("a dict with another key")
def dict_key() -> Example:
    def forward(parts: dict[str, torch.Tensor]) -> torch.Tensor:
        return parts["a"] * 2 if "a" in parts else parts["b"]

    return Example(forward, ({"a": t(3)},), also=[(({"b": t(3)},), {}), (({"a": t(3), "b": t(3)},), {})])


@program("a tuple in place of a list")
def tuple_for_list() -> Example:
    return Example(lambda xs: xs + type(xs)(xs), ([t(3)],), also=[(((t(3),),), {})])


@program("a keyword argument that is left out later")
def keyword_left_out() -> Example:
    def forward(x: torch.Tensor, *, scale: float = 1.0) -> torch.Tensor:
        return x * scale

    return Example(forward, (t(3),), {"scale": 2.0}, also=[((t(3),), {})])


@program("keyword arguments in another order")
def keyword_order() -> Example:
    def forward(**parts: torch.Tensor) -> torch.Tensor:
        return torch.cat(list(parts.values()))

    return Example(forward, (), {"a": t(1), "b": t(2)}, also=[((), {"b": t(2), "a": t(1)})])


@program("a call under autocast")
def autocast() -> Example:
    def context() -> Any:
        return torch.autocast("cpu", torch.bfloat16)

    return Example(lambda x, y: x @ y, (t(3, 3), t(3, 3)), under=context)


@program("the default dtype decides, and is another in the call")
def default_dtype() -> Example:
    class Double:
        def __enter__(self) -> None:
            torch.set_default_dtype(torch.float64)

        def __exit__(self, *error: Any) -> None:
            torch.set_default_dtype(torch.float32)

    return Example(lambda x: torch.zeros(3) + x, (t(3),), under=Double)


class Loud(torch.Tensor):
    """A subclass that changes nothing."""


@program("a subclass of Tensor in place of a Tensor")
def tensor_subclass() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if type(x) is torch.Tensor else x * 3

    return Example(forward, (t(3),), also=[((t(3).as_subclass(Loud),), {})])


@program("inference mode in the call")
def inference_mode() -> Example:
    return Example(lambda x: (x * 2, torch.is_inference_mode_enabled()), (t(3),), under=torch.inference_mode)
