"""Dynamic inputs from end to end: each kind of specification exported, run at other sizes, compared with eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo import mark_dynamic, maybe_mark_dynamic
from torch._dynamo.decorators import mark_unbacked
from torch.export import AdditionalInputs, Dim, ShapesCollection
from torch.export.dynamic_shapes import _IntWrapper

import dynamo_lite
from dynamo_lite import constrain_as_size, constrain_as_value, dynamic_dim
from dynamo_lite.errors import ConstraintViolation, InputMismatch
from dynamo_lite.program.shapes.dynamic_shapes import InvalidDynamicShapes
from tests.dynamic.spec_cases import Batch, Cache, Pair


def r(*shape: int) -> torch.Tensor:
    return torch.randn(shape)


def check(program: Any, f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """The program equals eager."""
    torch.testing.assert_close(program.module()(*args, **kwargs), f(*args, **kwargs))


def refuses(program: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(InputMismatch) as caught:
        program.module()(*args, **kwargs)
    return str(caught.value)


def shapes(program: Any) -> list[str]:
    """The symbolic shapes of the user's inputs."""
    names = set(program.graph_signature.user_inputs)
    return [f"{n.name}:{str([*n.meta['val'].shape]) if hasattr(n.meta['val'], 'shape') else n.meta['val']}"
            for n in program.graph.nodes if n.op == "placeholder" and n.name in names]


class Tutorial(nn.Module):
    """The model of torch.export's tutorial about Dim.AUTO."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(5, 3)

    def forward(self, w: Any, x: Any, y: Any, z: Any) -> Any:
        x0 = x + y  # [s2] + [s3, s2]
        return self.linear(w), x0.reshape(-1) * z


def test_the_tutorial() -> None:
    model = Tutorial()
    specs = {"w": (Dim.AUTO, Dim.AUTO), "x": (Dim.AUTO,), "y": (Dim.AUTO, Dim.AUTO), "z": (Dim.AUTO,)}
    program = dynamo_lite.export(model, (r(8, 5), r(4), r(6, 4), r(24)), dynamic_shapes=specs)
    assert shapes(program) == ["w:[s0, 5]", "x:[s2]", "y:[s3, s2]", "z:[s2*s3]"]
    check(program, model, r(1, 5), r(7), r(2, 7), r(14))
    assert "x" in refuses(program, r(1, 5), r(6), r(2, 7), r(14))
    assert "z" in refuses(program, r(1, 5), r(7), r(2, 7), r(13))


def test_static_by_default() -> None:
    program = dynamo_lite.export(lambda x, y: x @ y, (r(4, 5), r(5, 6)), dynamic_shapes={"x": {0: Dim.AUTO}, "y": None})
    check(program, torch.matmul, r(9, 5), r(5, 6))
    refuses(program, r(9, 5), r(5, 7))


def test_sizes_of_0_and_1_that_nothing_depends_on_are_admitted() -> None:
    f = lambda x: torch.relu(x * 2) + 1  # noqa: E731
    for spec in (Dim.AUTO, Dim.DYNAMIC, Dim("b"), Dim("b", max=9)):
        program = dynamo_lite.export(f, (r(4, 5),), dynamic_shapes=({0: spec},))
        for n in (0, 1, 2, 9):
            check(program, f, r(n, 5))


def test_the_users_range_is_kept() -> None:
    f = lambda x: x + 1  # noqa: E731
    for spec in (Dim.AUTO(min=2, max=6), Dim.DYNAMIC(min=2, max=6), Dim("b", min=2, max=6)):
        program = dynamo_lite.export(f, (r(4, 5),), dynamic_shapes=({0: spec},))
        assert [(int(v.lower), int(v.upper)) for v in program.range_constraints.values()] == [(2, 6)]
        for n in (2, 6):
            check(program, f, r(n, 5))
        for n in (1, 7):
            assert "x" in refuses(program, r(n, 5))


def test_auto_is_discovered() -> None:
    def f(x: Any, y: Any, z: Any) -> Any:
        return x + y, z + torch.ones(4)

    program = dynamo_lite.export(f, (r(6), r(6), r(4)), dynamic_shapes=[{0: Dim.AUTO}] * 3)
    assert shapes(program)[2] == "z:[4]" and shapes(program)[0][2:] == shapes(program)[1][2:]
    check(program, f, r(3), r(3), r(4))
    refuses(program, r(3), r(5), r(4))
    (note,) = (text for text in program.notes if text.startswith("z.shape[0]"))
    line = f.__code__.co_firstlineno + 1
    assert note == f"z.shape[0] is static: the program only works for 4 (operator {__file__}:{line} " \
                   "`return x + y, z + torch.ones(4)` in aten.add.Tensor)"


def test_derived_dims() -> None:
    b = Dim("b", min=1, max=100)

    def f(x: Any, y: Any) -> Any:
        return torch.cat([x, x, x[:1]]) * y

    program = dynamo_lite.export(f, (r(4, 3), r(9, 3)), dynamic_shapes={"x": {0: b}, "y": {0: 2 * b + 1}})
    for n in (1, 3, 50):
        check(program, f, r(n, 3), r(2 * n + 1, 3))
    refuses(program, r(3, 3), r(6, 3))


def test_derived_dims_whose_root_no_input_has() -> None:
    k = Dim("k")

    def f(x: Any, y: Any) -> Any:
        return x.reshape(-1, 4).sum(1) + y.reshape(-1, 3).sum(1)

    program = dynamo_lite.export(f, (r(8), r(6)), dynamic_shapes=({0: 4 * k}, {0: 3 * k}))
    check(program, f, r(20), r(15))
    refuses(program, r(18), r(15))
    refuses(program, r(20), r(12))


def test_ints() -> None:
    def f(x: Any, n: int, more: list[int]) -> Any:
        return x * n + torch.ones(more[0], 1) * more[1]

    program = dynamo_lite.export(f, (r(4, 3), 5, [4, 2]), dynamic_shapes=({0: Dim.AUTO}, Dim.DYNAMIC, [Dim.AUTO, None]))
    check(program, f, r(6, 3), -7, [6, 2])
    check(program, f, r(6, 3), 0, [6, 2])
    refuses(program, r(6, 3), 1, [6, 3])
    refuses(program, r(6, 3), 1, [5, 2])
    refuses(program, r(6, 3), 1.5, [6, 2])


def test_an_int_that_is_a_size() -> None:
    b = Dim("b", max=32)

    def f(x: Any, n: int) -> Any:
        return x + torch.arange(n)[:, None]

    program = dynamo_lite.export(f, (r(4, 3), 4), dynamic_shapes=({0: b}, b))
    check(program, f, r(7, 3), 7)
    refuses(program, r(7, 3), 8)


CONTAINERS: dict[str, tuple[Callable[[Any], Any], Callable[[int], Any], Any]] = {
    "a list": (lambda x: x[0] + x[1], lambda n: [r(n, 3), r(n, 3)], [{0: Dim("b")}] * 2),
    "a dict of tuples": (lambda x: x["a"][0] * 2, lambda n: {"a": (r(n), r(2))}, {"a": ({0: Dim.AUTO}, None)}),
    "a named tuple": (lambda x: x.left.sum() + x.right, lambda n: Pair(r(2), r(n)), Pair(None, {0: Dim.DYNAMIC})),
    "a dataclass": (lambda x: x.data + x.mask, lambda n: Batch(r(n, 2), r(n, 2)), [{0: Dim("b")}, {0: Dim("b")}]),
    "an object": (lambda x: x.layers[0] * x.scale, lambda n: Cache(r(n, 2)), {"layers": [{0: Dim("b")}]}),
}


@pytest.mark.parametrize("f, make, spec", CONTAINERS.values(), ids=CONTAINERS)
def test_containers(f: Callable[[Any], Any], make: Callable[[int], Any], spec: Any) -> None:
    program = dynamo_lite.export(f, (make(4),), dynamic_shapes=(spec,))
    for n in (2, 7):
        check(program, f, make(n))


def test_args_and_kwargs() -> None:
    def f(x: Any, *rest: Any, scale: int = 1, **options: Any) -> Any:
        return x + rest[0] + rest[1]["k"] * scale + options["bias"]

    b = Dim("b")
    specs = {"x": {0: b}, "rest": ({0: b}, {"k": {0: b}}), "scale": None, "options": {"bias": {0: b}}}
    program = dynamo_lite.export(f, (r(4), r(4), {"k": r(4)}), {"bias": r(4), "scale": 3}, dynamic_shapes=specs)
    check(program, f, r(6), r(6), {"k": r(6)}, bias=r(6), scale=3)
    refuses(program, r(6), r(6), {"k": r(5)}, bias=r(6), scale=3)


def test_a_shapes_collection() -> None:
    x, y = r(4, 3), r(8, 3)
    b, collection = Dim("b"), ShapesCollection()
    collection[x] = (b, None)
    collection[y] = {0: 2 * b}
    f = lambda d: torch.cat([d["a"], d["a"]]) + d["b"][0]  # noqa: E731
    program = dynamo_lite.export(f, ({"a": x, "b": [y]},), dynamic_shapes=collection)
    check(program, f, {"a": r(5, 3), "b": [r(10, 3)]})


def test_a_shapes_collection_of_ints() -> None:
    n, collection = _IntWrapper(3), ShapesCollection()
    collection[n] = Dim.DYNAMIC
    f = lambda x, n: x * n  # noqa: E731
    program = dynamo_lite.export(f, (r(4), n), dynamic_shapes=collection)
    check(program, f, r(4), 8)


def test_additional_inputs() -> None:
    f = lambda x, n: x.reshape(x.shape[0] // 2, 2, 3) * n  # noqa: E731
    more = AdditionalInputs()
    more.add((r(6, 3), 4))
    more.add((r(10, 3), 1))
    program = dynamo_lite.export(f, (r(4, 3), 2), dynamic_shapes=more)
    check(program, f, r(8, 3), 9)
    more.add((r(7, 3), 1))
    with pytest.raises(InvalidDynamicShapes, match="additional inputs #2"):
        dynamo_lite.export(f, (r(4, 3), 2), dynamic_shapes=more)


def test_marks() -> None:
    f = lambda x, y: x + y  # noqa: E731
    x, y = r(4, 3), r(4, 3)
    mark_dynamic(x, 0, max=9)
    maybe_mark_dynamic(y, 0)
    program = dynamo_lite.export(f, (x, y))
    check(program, f, r(9, 3), r(9, 3))
    refuses(program, r(10, 3), r(10, 3))
    mark_dynamic(x, 1)
    with pytest.raises(ConstraintViolation) as caught:
        dynamo_lite.export(f, (x, y))
    assert [v.kind for v in caught.value.violations] == ["specialised"]
    names: dict[str, Any] = {"Dim": Dim}
    exec("\n".join(caught.value.fixes), names)
    program = dynamo_lite.export(f, (x, y), dynamic_shapes=names["dynamic_shapes"])
    check(program, f, r(9, 3), r(9, 3))


def test_an_unbacked_mark() -> None:
    f = lambda x: x * 2 + 1  # noqa: E731
    x = r(4, 3)
    mark_unbacked(x, 0)
    program = dynamo_lite.export(f, (x,))
    for n in (0, 1, 7):
        check(program, f, r(n, 3))


@pytest.mark.parametrize(
    ("f", "fits"),
    [
        (lambda x, y: x + y, lambda n, m: n == m),
        (lambda x, y: x[: y.shape[0]] - y, lambda n, m: n >= m),
        (
            lambda x, y: (torch._check(x.shape[0] + y.shape[0] == 8), torch.cat([x, y]) * x.shape[0])[1],
            lambda n, m: n + m == 8,
        ),
    ],
    ids=["equal", "at most", "sum"],
)
def test_what_is_asserted_of_two_unbacked_inputs(f: Any, fits: Any) -> None:
    """The sizes of both are read before the condition about them. Broadcasting of a size of 1 is not admitted."""
    x, y = r(4, 3), r(4, 3)
    mark_unbacked(x, 0)
    mark_unbacked(y, 0)
    program = dynamo_lite.export(f, (x, y))
    for n in (0, 1, 2, 4, 6):
        for m in (1, 2, 4, 7):
            if fits(n, m):
                check(program, f, r(n, 3), r(m, 3))
            else:
                with pytest.raises(RuntimeError):  # by an assertion within the program, or a guard before it
                    program.module()(r(n, 3), r(m, 3))


# -- torch 2.1 ---------------------------------------------------------------------------------------------------------
def test_constraints() -> None:
    x, y = r(4, 3), r(3, 4)
    f = lambda x, y: x + y.T  # noqa: E731
    constraints = [2 <= dynamic_dim(x, 0) <= 8, dynamic_dim(x, 0) == dynamic_dim(y, 1)]
    program = dynamo_lite.export(f, (x, y), constraints=constraints)
    check(program, f, r(8, 3), r(3, 8))
    for n, m in ((9, 9), (1, 1), (4, 5)):
        refuses(program, r(n, 3), r(3, m))


def test_constraints_that_are_violated() -> None:
    x = r(4, 3)
    def f(x: Any) -> Any:
        if x.shape[0] >= 10:
            raise ValueError("too long")
        return x + 1

    with pytest.raises(ConstraintViolation) as caught:
        dynamo_lite.export(f, (x,), constraints=[dynamic_dim(x, 0) <= 20])
    names: dict[str, Any] = {"Dim": Dim}
    exec("\n".join(caught.value.fixes), names)
    program = dynamo_lite.export(f, (x,), dynamic_shapes=names["dynamic_shapes"])
    check(program, f, r(9, 3))
    refuses(program, r(10, 3))


def test_constrained_values() -> None:
    def f(x: Any, n: Any) -> Any:
        k = n.item()
        constrain_as_size(k, min=2, max=6)
        v = n.sum().item()
        constrain_as_value(v, min=1)
        return torch.zeros(k, 3) + x[:k].sum() + v

    program = dynamo_lite.export(f, (r(6, 3), torch.tensor(4)))
    for n in (2, 6):
        check(program, f, torch.ones(6, 3), torch.tensor(n))
    for n in (1, 7):
        with pytest.raises(RuntimeError):
            program.module()(r(6, 3), torch.tensor(n))
        with pytest.raises(RuntimeError, match="constrain_as"):
            f(r(6, 3), torch.tensor(n))  # in eager too
