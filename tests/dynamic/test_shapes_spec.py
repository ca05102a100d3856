"""ShapesSpec, ParamsSpec, TensorSpec, ShapeVar, @dynamic_spec (torch 2.14): eager and torch.export are the oracles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import DataDependent, InvalidArguments
from dynamo_lite.symbolic_shapes.torch_versions import installed

pytestmark = pytest.mark.skipif(installed() < (2, 14), reason="torch.fx.experimental.dynamic_spec is new in 2.14")
spec: Any = pytest.importorskip("torch.fx.experimental.dynamic_spec") if installed() >= (2, 14) else None


def called(fn: Callable[..., Any]) -> nn.Module:
    """A module whose forward is `fn`, with its parameters' names."""
    module: nn.Module = type("Called", (nn.Module,), {"forward": staticmethod(fn)})()
    return module


def both(
    fn: Callable[..., Any], args: tuple[Any, ...], shapes: Any, kwargs: dict[str, Any] | None = None
) -> tuple[Any, Any]:
    """Our program, and torch's."""
    ours = dynamo_lite.export(called(fn), args, kwargs, dynamic_shapes=shapes)
    theirs = torch.export.export(called(fn), args, kwargs, dynamic_shapes=shapes)
    return ours.module(), theirs.module()


def admits(program: Any, *args: Any, **kwargs: Any) -> bool:
    try:
        program(*args, **kwargs)
    except (RuntimeError, AssertionError):
        return False
    return True


def test_one_variable_in_two_places() -> None:
    batch = spec.ShapeVar("batch", min=2, max=9)
    shapes = spec.ShapesSpec({"x": spec.TensorSpec([batch, 3]), "y": spec.TensorSpec([batch, None])})
    programs = both(lambda x, y: x + y, (torch.ones(4, 3), torch.ones(4, 3)), shapes)
    for n, m in [(2, 2), (9, 9), (5, 6), (1, 1), (10, 10)]:
        args = torch.randn(n, 3), torch.randn(m, 3)
        wanted = n == m and 2 <= n <= 9
        assert [admits(p, *args) for p in programs] == [wanted, wanted], (n, m)
        if wanted:
            assert torch.equal(programs[0](*args), args[0] + args[1])


@pytest.mark.parametrize("size", [lambda b: b * 2, lambda b: b + 3, lambda b: b * 2 + 1], ids=["2b", "b+3", "2b+1"])
def test_derived_sizes(size: Callable[[Any], Any]) -> None:
    b = spec.ShapeVar("b")
    shapes = spec.ParamsSpec({"x": spec.TensorSpec([b]), "y": spec.TensorSpec([size(b)])})
    programs = both(lambda x, y: y[: x.shape[0]] + x, (torch.ones(4), torch.ones(size(4))), shapes)
    for n, m in [(5, size(5)), (5, size(5) + 1), (7, size(7)), (7, size(6))]:
        wanted = m == size(n)
        assert [admits(p, torch.ones(n), torch.ones(m)) for p in programs] == [wanted, wanted], (n, m)


def test_assumptions_are_facts_and_checked() -> None:
    b = spec.ShapeVar("b", min=2, max=64)
    shapes = spec.ShapesSpec({"x": spec.TensorSpec([b])}, assumptions=[b % 2 == 0])
    program = dynamo_lite.export(called(lambda x: x.view(-1, 2).sum(1)), (torch.ones(4),), dynamic_shapes=shapes)
    for n in range(1, 12):
        assert admits(program.module(), torch.ones(n)) is (n % 2 == 0 and n >= 2), n


@pytest.mark.parametrize(
    "holds", [lambda a, b: a <= b, lambda a, b: a + b <= 9, lambda a, b: a * b > 5, lambda a, b: (a + b) % 3 == 0]
)
def test_assumptions_about_two_inputs(holds: Callable[[Any, Any], Any]) -> None:
    a, b = spec.ShapeVar("a"), spec.ShapeVar("b")
    shapes = spec.ShapesSpec({"x": spec.TensorSpec([a]), "y": spec.TensorSpec([b])}, assumptions=[holds(a, b)])
    programs = both(lambda x, y: x.sum() + y.sum(), (torch.ones(2), torch.ones(4)), shapes)
    for n in range(6):
        for m in range(6):
            args = torch.ones(n), torch.ones(m)
            assert [admits(p, *args) for p in programs] == [holds(n, m)] * 2, (n, m)
            assert not holds(n, m) or programs[0](*args) == n + m


def test_an_assumption_that_decides_a_branch() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x.sin() if x.shape[0] > 3 else x.cos()

    b = spec.ShapeVar("b")
    any_size = spec.ParamsSpec({"x": spec.TensorSpec([b])})
    with pytest.raises(DataDependent) as caught:  # nothing is specialised silently
        dynamo_lite.export(called(fn), (torch.ones(6),), dynamic_shapes=any_size, control_flow="refuse")
    assert "holds depends on a size that the inputs' specification leaves open" in str(caught.value)
    assert "state in `assumptions` of the ShapesSpec" in str(caught.value) and "data of" not in str(caught.value)
    captured = dynamo_lite.export(called(fn), (torch.ones(6),), dynamic_shapes=any_size).module()
    for n in (0, 1, 3, 4, 9):
        assert torch.equal(captured(torch.ones(n)), fn(torch.ones(n))), n
    shapes = spec.ShapesSpec({"x": spec.TensorSpec([b])}, assumptions=[b >= 4])
    program = dynamo_lite.export(called(fn), (torch.ones(6),), dynamic_shapes=shapes).module()
    assert torch.equal(program(torch.ones(5)), torch.ones(5).sin()) and not admits(program, torch.ones(3))


def test_an_int_that_varies() -> None:
    shapes = spec.ParamsSpec({"x": spec.TensorSpec([None]), "n": spec.IntVar("n", min=-8, max=8)})
    programs = both(lambda x, n: x * n, (torch.ones(3), 2), shapes)
    for n in (-8, 0, 5, 9):
        assert [admits(p, torch.ones(3), n) for p in programs] == [n <= 8] * 2, n
        if n <= 8:
            assert torch.equal(programs[0](torch.ones(3), n), torch.ones(3) * n)


def test_containers_and_variadic_arguments() -> None:
    def fn(x: Any, *rest: Any, **named: Any) -> Any:
        return x["a"][0].sum() + rest[0].sum() + named["k"].sum()

    a, r, k = (spec.ShapeVar(name) for name in "ark")
    shapes = spec.ParamsSpec({
        "x": spec.DictSpec({"a": spec.SeqSpec([spec.TensorSpec([a])])}),
        "*args": [spec.TensorSpec([r])],
        "**kwargs": {"k": spec.TensorSpec([k])},
    })  # fmt: skip

    class Module(nn.Module):
        def forward(self, x: Any, *rest: Any, **named: Any) -> Any:
            return fn(x, *rest, **named)

    args = ({"a": [torch.ones(3), torch.ones(2)]}, torch.ones(4), torch.ones(5))
    program = dynamo_lite.export(Module(), args, {"k": torch.ones(6)}, dynamic_shapes=shapes).module()
    given = ({"a": [torch.ones(7), torch.ones(2)]}, torch.ones(8), torch.ones(5))
    assert program(*given, k=torch.ones(9)) == fn(*given, k=torch.ones(9))
    assert not admits(program, {"a": [torch.ones(7), torch.ones(3)]}, torch.ones(8), torch.ones(5), k=torch.ones(9))


@pytest.mark.parametrize("place", ["at the top", "within **kwargs"])
def test_keywords_at_the_top_or_within_kwargs(place: str) -> None:
    """torch binds a keyword argument by its name first, then by **kwargs, whichever parameter takes it."""

    class Module(nn.Module):
        def forward(self, x: torch.Tensor, *, y: torch.Tensor, **named: Any) -> torch.Tensor:
            return x + y + named["k"]

    n = spec.ShapeVar("n")
    keywords = {"y": spec.TensorSpec([n]), "k": spec.TensorSpec([n])}
    said = keywords if place == "at the top" else {"**kwargs": keywords}
    shapes = spec.ParamsSpec({"x": spec.TensorSpec([n]), **said})
    example = (torch.ones(3),), {"y": torch.ones(3), "k": torch.ones(3)}
    ours = dynamo_lite.export(Module(), *example, dynamic_shapes=shapes).module()
    theirs = torch.export.export(Module(), *example, dynamic_shapes=shapes).module()
    for y, k in [(5, 5), (5, 4), (4, 5)]:
        given = {"y": torch.ones(y), "k": torch.ones(k)}
        assert [admits(p, torch.ones(5), **given) for p in (ours, theirs)] == [y == k == 5] * 2
    assert torch.equal(ours(torch.ones(5), y=torch.ones(5), k=torch.ones(5)), torch.full((5,), 3.0))
    other = spec.ParamsSpec({"x": spec.TensorSpec([n]), "z": spec.TensorSpec([n])})
    with pytest.raises(InvalidArguments, match="the spec has 'z', which the call does not give"):
        dynamo_lite.export(Module(), *example, dynamic_shapes=other)


def test_the_decorator_is_read() -> None:
    b = spec.ShapeVar("b")

    class Module(nn.Module):
        @spec.dynamic_spec({"x": spec.TensorSpec([b, None])})
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    program = dynamo_lite.export(Module(), (torch.ones(3, 2),)).module()
    assert torch.equal(program(torch.ones(7, 2)), torch.ones(7, 2) * 2)
    assert torch.equal(dynamo_lite.export(Module(), (torch.ones(3, 2),), strict=False).module()(torch.ones(7, 2)),
                       torch.ones(7, 2) * 2)  # fmt: skip
    with pytest.raises(InvalidArguments, match="has a @dynamic_spec, and dynamic_shapes is given as well"):
        dynamo_lite.export(Module(), (torch.ones(3, 2),), dynamic_shapes=({0: None},))


def _b() -> Any:
    return spec.ShapeVar("b", min=2)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: spec.ParamsSpec({"x": spec.TensorSpec([_b(), 3])}), "2 entries; the tensor there has 1 dimension"),
        (lambda: spec.ParamsSpec({"z": spec.TensorSpec([_b()])}), "has 'z', which the call does not give"),
        (lambda: spec.ParamsSpec({"x": spec.TensorSpec([_b() * 2])}), "is 2*b, and b is no size of an input"),
        (lambda: spec.ParamsSpec({"x": _b()}), "x: a ShapeVar, and the input there is a Tensor"),
        (lambda: spec.ParamsSpec({"x": spec.TensorSpec([spec.ShapeVar("b", max=3)])}),
         "ShapeVar(b, min=0, max=3) does not allow it"),
        (lambda: spec.ParamsSpec({"x": spec.SeqSpec([None])}), "a SeqSpec of 1, and the input there is a Tensor"),
        (lambda: (lambda b: spec.ShapesSpec({"x": spec.TensorSpec([b])}, assumptions=[b % 3 == 0]))(_b()),
         "assumptions[0] (Eq(Mod(b, 3), 0)) does not hold in the example"),
        (lambda: (lambda b: spec.ShapesSpec({}, assumptions=[b % 2 == 0]))(_b()), "not a size of an input by itself"),
    ],
)  # fmt: skip
def test_what_does_not_fit(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(InvalidArguments, match="dynamic_shapes does not fit the inputs") as caught:
        dynamo_lite.export(called(lambda x: x * 2), (torch.ones(4),), dynamic_shapes=make())
    assert said in str(caught.value)


def test_sizes_of_a_number() -> None:
    with pytest.raises(InvalidArguments, match="n: a TensorSpec, and the input there is an int"):
        dynamo_lite.export(called(lambda x, n: x * n), (torch.ones(4), 3),
                           dynamic_shapes=spec.ParamsSpec({"n": spec.TensorSpec([_b()])}))  # fmt: skip


def test_saved_and_loaded(tmp_path: Any) -> None:
    b = spec.ShapeVar("b", min=2, max=64)
    shapes = spec.ShapesSpec({"x": spec.TensorSpec([b]), "y": spec.TensorSpec([b * 2])}, assumptions=[b % 2 == 0])
    program = dynamo_lite.export(called(lambda x, y: y[: x.shape[0]] + x), (torch.ones(4), torch.ones(8)),
                                 dynamic_shapes=shapes)  # fmt: skip
    torch.export.save(program, tmp_path / "p.pt2")
    loaded = torch.export.load(tmp_path / "p.pt2").module()
    assert torch.equal(loaded(torch.ones(6), torch.ones(12)), torch.ones(6) * 2)
    assert not admits(loaded, torch.ones(5), torch.ones(10)) and not admits(loaded, torch.ones(6), torch.ones(11))
