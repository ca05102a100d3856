"""`contiguous()` of a tensor that is contiguous for some of its sizes only: a slice of a padded tensor.

The oracle is eager at each size: values, strides, gradients, what shares memory, and what is changed in place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite

Run = Callable[[Tensor], Any]
EXAMPLES = [(3, 6), (3, 4), (1, 6), (2, 8)]


def unpads(x: Tensor) -> Tensor:
    padded = F.pad(x.sin(), (0, -x.shape[1] % 4))
    return padded[:, : x.shape[1]].contiguous()


def computes_behind(x: Tensor) -> Tensor:
    first = (x * 2)[:, :4].contiguous()
    return first.view(-1).cumsum(0) + 1


def returns_both(x: Tensor) -> Any:
    first = (x * 2)[:, :4]
    return first.contiguous(), first


def changes_the_copy(x: Tensor) -> Tensor:
    plain = (x * 2)[:, :4].contiguous()
    plain.add_(1)
    return plain * 3


def by_the_operator(x: Tensor) -> Tensor:
    return torch.ops.aten.contiguous.default((x * 2)[:, :4]) + 1


def in_windows(x: Tensor) -> Tensor:
    height, width = x.shape
    pads = (-height % 2, -width % 3)
    if pads[0] or pads[1]:
        x = F.pad(x, (0, pads[1], 0, pads[0]))
    cells = x.view(x.shape[0] // 2, 2, x.shape[1] // 3, 3).transpose(1, 2).softmax(-1)
    return cells.transpose(1, 2).reshape(x.shape)[:height, :width].contiguous()


def input_is_sliced(x: Tensor) -> Tensor:
    return x[:, :4].contiguous() * 2


def input_is_returned(x: Tensor) -> Tensor:
    return x[:, :4].contiguous()


def input_is_changed(x: Tensor) -> Tensor:
    x[:, :4].contiguous().mul_(2)
    return x * 2


def changes_the_base(x: Tensor) -> Any:
    first = (x * 2)[:, :4]
    plain = first.contiguous()
    plain.add_(1)
    return first * 3, plain


TAKEN = [unpads, computes_behind, returns_both, changes_the_copy, in_windows, input_is_sliced, input_is_returned]


def _shared(values: list[Tensor]) -> list[bool]:
    keys = [value.untyped_storage().data_ptr() for value in values]
    return [one == other for one, other in itertools.combinations(keys, 2)]


def _agree(module: Any, run: Run, height: int, width: int, admitted: bool) -> None:
    x = torch.randn(height, width, requires_grad=True)
    same = x.detach().clone().requires_grad_()
    try:
        got = pytree.tree_leaves(module(same))
    except dynamo_lite.InputMismatch:
        assert not admitted
        return
    want = pytree.tree_leaves(run(x))
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(same, x)
    assert [t.stride() for t in got] == [t.stride() for t in want]
    assert _shared([same, *got]) == _shared([x, *want])
    (got[0] * got[0]).sum().backward()
    (want[0] * want[0]).sum().backward()
    torch.testing.assert_close(same.grad, x.grad)


@pytest.mark.parametrize("spec", [Dim.AUTO, None], ids=["auto", "named"])
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
@pytest.mark.parametrize("run", TAKEN, ids=lambda run: run.__name__)
def test_each_size_is_taken(run: Run, example: tuple[int, int], spec: Any) -> None:
    sizes = {0: spec or Dim("height", min=1, max=40), 1: spec or Dim("width", min=1, max=40)}
    if spec is not None and example[0] == 1:
        del sizes[0]  # a size of 1 is static with Dim.AUTO
    module = dynamo_lite.export(run, (torch.randn(*example),), dynamic_shapes=(sizes,)).module()
    for height, width in itertools.product((1, 2, 3) if 0 in sizes else (1,), range(1, 10)):
        _agree(module, run, height, width, admitted=True)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
@pytest.mark.parametrize("run", [changes_the_base, by_the_operator], ids=lambda r: r.__name__)
def test_what_shows_the_copy_is_as_in_the_example(run: Run, example: tuple[int, int]) -> None:
    program = dynamo_lite.export(run, (torch.randn(*example),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    for made in (program, program.run_decompositions()):
        for height, width in itertools.product((1, 2, 3), range(1, 10)):
            _agree(made.module(), run, height, width, admitted=(height, width) == example)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_change_of_the_input_is_as_in_the_example(example: tuple[int, int]) -> None:
    shapes = ({0: Dim.AUTO, 1: Dim.AUTO},)
    program = dynamo_lite.export(input_is_changed, (torch.randn(*example),), dynamic_shapes=shapes)
    for made in (program, program.run_decompositions()):
        for height, width in itertools.product((1, 2, 3), range(1, 10)):
            x = torch.randn(height, width)
            same = x.clone()
            try:
                got = made.module()(same)
            except dynamo_lite.InputMismatch:
                assert (height, width) != example
                continue
            torch.testing.assert_close(got, input_is_changed(x))
            torch.testing.assert_close(same, x)


@pytest.mark.parametrize("use", [lambda a, b: a is b, lambda a, b: {a: 1}.get(b) is not None], ids=["is", "key"])
def test_identity_is_as_in_the_example(use: Callable[[Any, Any], bool]) -> None:
    def run(x: Tensor) -> Tensor:
        first = (x * 2)[:, :4]
        plain = first.contiguous()
        return plain + 1 if use(plain, first) else plain - 1

    for example in EXAMPLES:
        shapes = ({0: Dim.AUTO, 1: Dim.AUTO},)
        module = dynamo_lite.export(run, (torch.randn(*example),), dynamic_shapes=shapes).module()
        for height, width in itertools.product((1, 2, 3), range(1, 10)):
            _agree(module, run, height, width, admitted=(height, width) == example)
