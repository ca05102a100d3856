"""What an object in an argument or a result holds beside the leaves that its registered functions keep."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.errors import InputMismatch, StructureMismatch, UnsupportedEffect


class Window:
    """The last four items of a sequence, and how many there were; unflatten takes it that there were no others."""

    def __init__(self, items: Tensor, scale: float = 1.0) -> None:
        self.items = items
        self.length = items.shape[0]
        self.scale = scale
        self.unread = "a"

    def added(self, x: Tensor) -> Window:
        made = Window(torch.cat([self.items, x])[-4:])
        made.length = self.length + x.shape[0]
        return made


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    take, make = (lambda value: ([value.items], None)), (lambda parts, _: Window(*parts))
    pytree.register_pytree_node(Window, take, make, serialized_type_name="tests.Window")
    yield
    pytree._deregister_pytree_node(Window)


def read(window: Window, x: Tensor) -> Tensor:
    return x[:1] * window.scale + window.length + window.items.sum()


def forms(ep: Any) -> Iterator[Any]:
    """The program, and what becomes of it later."""
    yield ep.module()
    yield copy.deepcopy(ep).module()
    yield ep.run_decompositions().module()
    file = io.BytesIO()
    dynamo_lite.save(ep, file)
    file.seek(0)
    with torch.serialization.safe_globals([Window]):
        yield dynamo_lite.load(file).module()


@pytest.mark.parametrize("shapes", [None, {"window": [{0: torch.export.Dim.DYNAMIC}], "x": None}])
def test_a_later_call_with_another_state_is_refused(shapes: Any) -> None:
    x = torch.ones(2)
    ep = dynamo_lite.export(read, (Window(torch.randn(3)), x), dynamic_shapes=shapes)
    sizes = (3,) if shapes is None else (3, 2, 7)
    for module in forms(ep):
        for size in sizes:
            window = Window(torch.randn(size))
            torch.testing.assert_close(module(window, x), read(window, x))
            window.unread = "b"  # the program does not look
            torch.testing.assert_close(module(window, x), read(window, x))
            window.length += 1
            with pytest.raises(StructureMismatch, match=rf"window\.length: expected {size}, given {size + 1}"):
                module(window, x)
        with pytest.raises(StructureMismatch, match=r"window\.scale: expected 1\.0, given 2\.0"):
            module(Window(torch.randn(3), 2.0), x)


def test_a_state_of_another_type_or_none_at_all_is_refused() -> None:
    x = torch.ones(2)
    module = dynamo_lite.export(read, (Window(torch.randn(3)), x)).module()
    window = Window(torch.randn(3))
    window.length = 3.0  # type: ignore[assignment]
    with pytest.raises(InputMismatch, match=r"expected 3, given 3\.0"):
        module(window, x)
    del window.length
    with pytest.raises(InputMismatch, match="expected 3, given nothing"):
        module(window, x)


def test_nested_objects_and_keyword_arguments_are_named() -> None:
    def forward(x: Tensor, *, windows: list[Window]) -> Tensor:
        return x + windows[1].length

    x, good = torch.ones(2), [Window(torch.randn(3)), Window(torch.randn(2))]
    module = dynamo_lite.export(forward, (x,), {"windows": good}).module()
    good[0].length = 9
    torch.testing.assert_close(module(x, windows=good), x + 2)
    good[1].length = 9
    with pytest.raises(StructureMismatch, match=r"windows\[1\]\.length: expected 2, given 9"):
        module(x, windows=good)


def test_what_the_program_has_written_first_may_be_anything() -> None:
    def forward(window: Window, x: Tensor) -> Tensor:
        window.length = 5
        return x + window.length

    x, window = torch.ones(2), Window(torch.randn(3))
    module = dynamo_lite.export(forward, (window, x), effects="drop").module()
    window.length = 11
    torch.testing.assert_close(module(window, x), x + 5)


@pytest.mark.parametrize("shapes", [None, {"window": [{0: torch.export.Dim("n", min=4, max=9)}], "x": None}])
def test_a_result_that_loses_its_state_is_refused(shapes: Any) -> None:
    def forward(window: Window, x: Tensor) -> Window:
        return window.added(x)

    call = Window(torch.randn(4)), torch.ones(1)
    with pytest.raises(UnsupportedEffect, match=r"output\.length is .* in eager, and .* in what the program"):
        dynamo_lite.export(forward, call, dynamic_shapes=shapes)
    if shapes is None:
        trace = dynamo_lite.trace(forward, call, effects="drop")
        assert any("output.length is 5 in eager, and 4" in str(note) for note in trace.notes)


@pytest.mark.parametrize("shapes", [None, {"window": [{0: torch.export.Dim("n", min=2, max=3)}], "x": None}])
def test_a_result_that_keeps_its_state_is_taken(shapes: Any) -> None:
    def forward(window: Window, x: Tensor) -> Window:
        made = Window(torch.cat([window.items, x]))
        made.length = window.length + 1
        return made

    x = torch.ones(1)
    module = dynamo_lite.export(forward, (Window(torch.randn(3)), x), dynamic_shapes=shapes).module()
    for size in (3,) if shapes is None else (2, 3):
        window = Window(torch.randn(size))
        got, want = module(window, x), forward(window, x)
        torch.testing.assert_close(got.items, want.items)
        assert got.length == want.length


class Pooled(torch.nn.Module):
    """Two entry points of one model, each of which reads a container's state or a dict's order."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, window: Window, x: Tensor) -> Tensor:
        return read(window, x) * self.scale

    def ordered(self, parts: dict[str, Tensor]) -> Tensor:
        return torch.cat([*parts.values()]) * self.scale


def test_the_programs_of_an_archive_check_what_they_have_read() -> None:
    x, parts = torch.ones(2), {"b": torch.ones(1), "a": torch.zeros(1)}
    methods = dynamo_lite.export_methods(Pooled(), {"forward": (Window(torch.randn(3)), x), "ordered": (parts,)})
    file = io.BytesIO()
    methods.save(file)
    file.seek(0)
    with torch.serialization.safe_globals([Window]):
        loaded = dynamo_lite.load_methods(file)
    for programs in (methods, loaded):
        window = Window(torch.randn(3))
        torch.testing.assert_close(programs.module("forward")(window, x), read(window, x))
        window.length = 7
        with pytest.raises(StructureMismatch, match=r"window\.length"):
            programs.module("forward")(window, x)
        torch.testing.assert_close(programs.module("ordered")(parts), torch.tensor([1.0, 0.0]))
        with pytest.raises(StructureMismatch, match="in the order b, a"):
            programs.module("ordered")({name: parts[name] for name in "ab"})
