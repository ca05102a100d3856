"""Results of operators taken from memory: the program must be the one that running each operator gives."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves

import dynamo_lite
from dynamo_lite.capture.fakes import static_cache
from tests.capture.modules import CASES
from tests.capture.native import export_natively


def looks(value: Any) -> Any:
    """The metadata of a node's value, without identity."""
    if isinstance(value, torch.Tensor):
        return (value.shape, value.stride(), value.storage_offset(), value.dtype, value.device, value.requires_grad)
    if isinstance(value, (list, tuple)):
        return [looks(v) for v in value]
    return value


def rows(program: ExportedProgram) -> list[Any]:
    nodes = program.graph.nodes
    return [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs), looks(n.meta.get("val"))) for n in nodes]


@pytest.mark.parametrize("name", CASES)
def test_remembered_results_make_the_same_program(name: str) -> None:
    torch.manual_seed(0)
    module, args, kwargs = CASES[name]()
    exact = rows(export_natively(module, args, kwargs, memory=static_cache.Memory.NOTHING))
    static_cache.forget()
    assert rows(export_natively(module, args, kwargs)) == exact  # nothing remembered yet
    assert rows(export_natively(module, args, kwargs)) == exact  # what can be, is
    assert rows(export_natively(module, args, kwargs, memory=static_cache.Memory.GRADIENT_VIEWS)) == exact


def run(fn: Any, *args: Any, memory: static_cache.Memory = static_cache.Memory.ALL) -> Any:
    """`fn` recorded twice, the second time from memory: what it returned the second time."""

    class Module(torch.nn.Module):
        result: Any = None

        def forward(self, *values: Any) -> Any:
            Module.result = fn(*values)
            return values[0] + 1

    static_cache.forget()
    for _ in range(2):
        export_natively(Module(), args, memory=memory)
    return Module.result


def test_a_view_from_memory_shares_its_base_s_memory() -> None:
    base, view, again = run(lambda x: (x, x.t(), x.t()[1:]), torch.randn(3, 4))
    assert view.untyped_storage()._cdata == base.untyped_storage()._cdata == again.untyped_storage()._cdata
    assert again.storage_offset() == 1


def test_a_result_from_memory_has_memory_of_its_own() -> None:
    x, y, z = run(lambda x: (x, x * 2, x * 2), torch.randn(3))
    assert len({t.untyped_storage()._cdata for t in (x, y, z)}) == 3


def test_what_an_operator_hands_back_is_its_argument() -> None:
    x, y = run(lambda x: (x, x.contiguous()), torch.randn(3))
    assert y is x


def test_a_result_that_requires_grad_is_no_leaf() -> None:
    y, z = run(lambda x: (x * 2, (x * 2).view(-1)), torch.randn(2, 3, requires_grad=True))
    assert y.requires_grad and not y.is_leaf
    assert z.requires_grad and not z.is_leaf


def test_detach_from_memory_does_not_require_grad() -> None:
    y = run(lambda x: x.detach(), torch.randn(3, requires_grad=True))
    assert not y.requires_grad


def test_no_grad_is_another_question() -> None:
    def both(x: torch.Tensor) -> Any:
        y = x * 2
        with torch.no_grad():
            return y, x * 2

    y, z = run(both, torch.randn(3, requires_grad=True))
    assert (y.requires_grad, z.requires_grad) == (True, False)


def test_the_default_dtype_is_part_of_the_question() -> None:
    divide = torch.ops.aten.true_divide.Tensor
    keys = set()
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        try:
            keys.add(static_cache.key_of(divide, (1, 2), {}))
        finally:
            torch.set_default_dtype(torch.float32)
    assert len(keys) == 2 and None not in keys


def test_an_in_place_write_through_a_view_starts_again() -> None:
    def write(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = x * 1
        y.view(-1).add_(w.view(-1))  # autograd: y requires grad from here on
        return y

    x, w = torch.randn(2, 2), torch.randn(2, 2, requires_grad=True)
    with pytest.raises(static_cache.Inexact):
        run(write, x, w)
    assert run(write, x, w, memory=static_cache.Memory.GRADIENT_VIEWS).requires_grad
    assert run(write, x, w, memory=static_cache.Memory.NOTHING).requires_grad


VIEWS: dict[str, Any] = {
    "select": lambda t: t[0],
    "t": lambda t: t.t(),
    "chunk": lambda t: t.chunk(2)[0],
    "unbind": lambda t: t.unbind(0)[0],
    "a view of a chunk": lambda t: t.chunk(2)[0].view(-1),
    "a row of a transpose": lambda t: t.t().unbind(0)[0],
    "a row of a detached": lambda t: t.detach().unbind(0)[0],
}
BASES: dict[str, Any] = {"a leaf": lambda w: w, "a result": lambda w: w * 2, "no gradient": lambda w: w.detach() * 2}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("view", VIEWS)
def test_what_autograd_forbids_in_place_is_forbidden_from_memory_too(view: str, base: str) -> None:
    def forbidden(w: torch.Tensor) -> str | None:
        try:
            VIEWS[view](BASES[base](w)).add_(w.sum())
        except RuntimeError as error:
            return str(error)[:40]
        return None

    w = torch.ones(2, 2, requires_grad=True)
    expected = forbidden(w.clone().detach().requires_grad_())
    for memory in static_cache.Memory:
        try:
            assert run(forbidden, w, memory=memory) == expected
        except static_cache.Inexact:
            assert memory is not static_cache.Memory.NOTHING


def test_keys_tell_types_of_numbers_apart() -> None:
    add = torch.ops.aten.add.Scalar
    keys = {static_cache.key_of(add, (value,), {}) for value in (1, 1.0, True, 0.0, -0.0)}
    assert len(keys) == 5


@pytest.fixture(params=range(6))
def forgetful(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a long process, some operators of a program come from memory, and others run."""
    recall, draw = static_cache.recall, random.Random(request.param)
    monkeypatch.setattr(static_cache, "recall", lambda *a: static_cache.MISS if draw.random() < 0.5 else recall(*a))


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("view", VIEWS)
def test_what_autograd_forbids_in_place_is_forbidden_whichever_operators_are_remembered(view: str, base: str) -> None:
    test_what_autograd_forbids_in_place_is_forbidden_from_memory_too(view, base)


@pytest.mark.usefixtures("forgetful")
def test_the_base_of_a_view_is_eager_s_whichever_operators_are_remembered() -> None:
    class Asks(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            y = x * 2
            views = [view for base in (x, y) for view in (base[0], base[0][1:], base.t()[0][1:])]
            return [x + (1 if view._base is x else 2 if view._base is y else 3) for view in views]

    x = torch.randn(3, 4)
    for _ in range(3):
        assert all(map(torch.equal, dynamo_lite.export(Asks(), (x,)).module()(x), Asks()(x)))


SEVERAL = {
    "broadcast_tensors": torch.broadcast_tensors,
    "atleast_1d": torch.atleast_1d,
    "atleast_3d": torch.atleast_3d,
    "meshgrid": lambda a, b: torch.meshgrid(a, b, indexing="ij"),
    "expand_as": lambda a, b: (a.expand_as(b), b.expand_as(a)),
}


@pytest.mark.parametrize("writes", [False, True], ids=["read", "written"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", SEVERAL)
def test_one_tensor_given_twice_is_no_example_of_two_tensors(name: str, dynamic: bool, writes: bool) -> None:
    """Each result shares memory with the argument that it shares it with in eager."""

    class Module(torch.nn.Module):
        def __init__(self, same: bool) -> None:
            super().__init__()
            self.same = same

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            a, b = x * 1, y * 1
            one, other = SEVERAL[name](a, a if self.same else b)
            read = one * 2, other * 2
            if writes:
                b.add_(7)
            return read, one * 3, other * 3

    sizes = ({0: torch.export.Dim.AUTO}, {0: torch.export.Dim.AUTO}) if dynamic else None
    x, y = torch.randn(3), torch.randn(3)
    static_cache.forget()
    for same, shapes in ((True, None), (True, sizes), (False, sizes), (True, sizes)):
        module = Module(same)
        program = dynamo_lite.export(module, (x, y), dynamic_shapes=shapes)
        torch.testing.assert_close(program.module()(x, y), module(x, y))


@pytest.mark.parametrize("sizes", [None, ({0: torch.export.Dim.AUTO},)], ids=["static", "dynamic"])
@pytest.mark.parametrize("inference", [False, True])
def test_operators_that_read_a_known_value(sizes: Any, inference: bool) -> None:
    """tensor_split is made of others, which read how many pieces there are: the second call had those of the first."""

    class Splits(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            pieces = [x.tensor_split(torch.tensor(count)) for count in (2, 3)]
            return pieces, x.tensor_split(torch.tensor([1])), x.tensor_split(torch.tensor([2]))

    module, x = Splits(), torch.arange(12.0).reshape(6, 2)
    with torch.inference_mode(inference):
        program = dynamo_lite.export(module, (x,), dynamic_shapes=sizes)
        got, want = program.module()(x + 1), module(x + 1)
    assert [len(part) for part in got[0]] == [2, 3]
    for one, other in zip(tree_leaves(got), tree_leaves(want), strict=True):
        assert torch.equal(one, other)
