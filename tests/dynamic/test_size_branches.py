"""Branches on sizes: compared, captured or left to the example, and right at every size that the program admits."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite import ConstraintViolation

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12)
Forward = Callable[..., Any]


class Attends(nn.Module):
    """The library's shapes of such a branch: a flag that is a condition, a mask, a position table."""

    def __init__(self) -> None:
        super().__init__()
        self.causal = True
        self.register_buffer("positions", torch.randn(64, 4))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        length = x.shape[0]
        is_causal = length > 1 and mask is None and self.causal
        if is_causal and mask is None and length > 1 and x.shape[0] > length:
            x = x[:length]
        x = (x + self.positions[:length])[None, None]
        return F.scaled_dot_product_attention(x, x, x, attn_mask=mask, is_causal=is_causal)[0, 0]


def expands_to_what_it_is(x: Tensor) -> Tensor:
    row = torch.arange(4.0)[None]
    if row.shape[0] != x.shape[0]:
        row = row.expand(x.shape[0], -1)
    return x + row


def chooses_a_number(x: Tensor) -> Tensor:
    pieces = 2 if x.shape[0] > 4 else 1
    return x.view(x.shape[0], pieces, -1).sum(1)


def pads_to_what_is_missing(x: Tensor) -> Tensor:
    missing = 0 if x.shape[0] % 4 == 0 else 4 - x.shape[0] % 4
    return torch.cat([x, x.new_zeros(missing, 4)]).view(-1, 4, 4).sum(1)


def asks_in_a_helper(x: Tensor) -> Tensor:
    def is_long(length: int) -> bool:
        return length > 3 and length < 100

    kind = is_long(x.shape[0])
    return x * 2 if kind is None else x * 3


def negates(x: Tensor) -> Tensor:
    short = not x.shape[0] > 3
    return x + torch.full((), 1.0 if torch.is_tensor(short) else 0.0)


COMPARED: dict[str, Forward] = {
    "attends": Attends(),
    "expands": expands_to_what_it_is,
    "number": chooses_a_number,
    "missing": pads_to_what_is_missing,
    "helper": asks_in_a_helper,
    "negates": negates,
}


class Pads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[0]
        pad = -length % 4
        x = self.inner(x)
        if pad:
            x = F.pad(x, (0, 0, 0, pad))
        x = x.view((length + pad) // 4, 4, 4).softmax(1).reshape(length + pad, 4)
        return x[:length]


def cuts(x: Tensor) -> Tensor:
    if x.shape[0] > 6:
        x = x[:6] * 3
    return x * 2


def pads_an_inner_dimension(x: Tensor) -> Tensor:
    y = x.t().contiguous()[None]
    if x.shape[0] % 4:
        y = F.pad(y, (0, 4 - x.shape[0] % 4))
    return y.view(1, 4, -1, 4).sum(-1)


def returns_early(x: Tensor) -> Tensor:
    if x.shape[0] == 1:
        return x * 3
    y = x.cumsum(0)
    return y / y.shape[0]


def tells_by_a_name(x: Tensor) -> Tensor:
    kind = "long" if x.shape[0] > 8 else "short"
    return {"long": x.sin(), "short": x.cos()}[kind]


def mask_of(x: Tensor) -> Tensor | None:
    return None if x.shape[0] == 1 else (x > 0).float()


def uses_what_a_helper_gives(x: Tensor) -> Tensor:
    mask = mask_of(x)
    for layer in range(3):
        if mask is not None:
            x = x * mask + layer
    return x * 2


class ManyLayers(nn.Module):
    """What the branch decides is used within a generator and a list that are at work around it."""

    def forward(self, x: Tensor) -> Tensor:
        return sum(layer for layer in (self.layer(x, i) for i in range(3)))  # type: ignore[return-value]

    def layer(self, x: Tensor, number: int) -> Tensor:
        mask = mask_of(x)
        return x + number if mask is None else x * mask * number


def nested(x: Tensor) -> Tensor:
    if x.shape[0] > 2:
        x = x.sin() if x.shape[0] > 5 else x.cos()
        if x.shape[0] == 7:
            x = x + 1
    return x * 2


def counts_in_a_list(x: Tensor) -> Tensor:
    seen = []
    if x.shape[0] > 3:
        seen.append(x.sum(0))
    else:
        seen.append(x.amax(0))
    return torch.stack(seen)


CAPTURED: dict[str, Forward] = {
    "pads": Pads(),
    "cuts": cuts,
    "inner": pads_an_inner_dimension,
    "early": returns_early,
    "name": tells_by_a_name,
    "helper": uses_what_a_helper_gives,
    "many": ManyLayers(),
    "nested": nested,
    "list": counts_in_a_list,
}


def exported(forward: Forward, spec: Any, rows: int = 6, **options: Any) -> Any:
    first = {0: spec}
    return dynamo_lite.export(forward, (torch.randn(rows, 4),), dynamic_shapes=(first,), **options)


def compare(
    forward: Forward, run: Callable[..., Any], sizes: tuple[int, ...] = SIZES, sharing: bool = False
) -> None:
    """Values, strides, gradients, and whether results share the memory of the input. (A side of a captured branch that
    returns an input gives a copy, which is in the notes: docs/control_flow.md.)"""
    for size in sizes:
        x = torch.randn(size, 4, requires_grad=True)
        same = x.detach().clone().requires_grad_()
        want, got = pytree.tree_leaves(forward(x)), pytree.tree_leaves(run(same))
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b, msg=lambda text, size=size: f"at {size}: {text}")
            assert a.stride() == b.stride() and a.requires_grad == b.requires_grad
            if sharing:
                shares, shared = ((t.untyped_storage().data_ptr(), g.untyped_storage().data_ptr())
                                  for t, g in ((a, same), (b, x)))  # fmt: skip
                assert (shares[0] == shares[1]) == (shared[0] == shared[1])
        if want[0].requires_grad:
            want[0].sum().backward()
            got[0].sum().backward()
            torch.testing.assert_close(same.grad, x.grad)


@pytest.mark.parametrize("rows", [1, 2, 6, 8])
@pytest.mark.parametrize("name", COMPARED)
def test_sides_that_leave_the_same_are_no_condition(name: str, rows: int) -> None:
    forward = COMPARED[name]
    program = exported(forward, Dim("n", min=1, max=12), rows)
    if rows == 1 and name == "expands":  # the side that the example does not take has an operator
        return compare(forward, program.module())
    assert all(node.target is not torch.ops.higher_order.cond for node in program.graph.nodes)
    compare(forward, program.module(), sharing=True)
    assert next(iter(program.range_constraints.values())).lower == 1


@pytest.mark.parametrize("rows", [2, 6, 8])
@pytest.mark.parametrize("name", CAPTURED)
def test_sides_that_differ_are_captured(name: str, rows: int) -> None:
    forward = CAPTURED[name]
    program = exported(forward, Dim("n", min=1, max=12), rows)
    compare(forward, program.module())


class Calls(nn.Module):
    """A function as a module, which torch.export.unflatten wants."""

    def __init__(self, function: Forward) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize("name", CAPTURED)
def test_captured_sides_survive_what_torch_does_with_programs(name: str) -> None:
    forward = CAPTURED[name] if isinstance(CAPTURED[name], nn.Module) else Calls(CAPTURED[name])
    program = exported(forward, Dim("n", min=1, max=12))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    forms = [program.run_decompositions().module(), torch.export.load(file).module(), torch.export.unflatten(program)]
    for form, size in itertools.product(forms, SIZES):
        x = torch.randn(size, 4)
        with torch.no_grad():
            torch.testing.assert_close(form(x), forward(x))


@pytest.mark.parametrize("name", ["early", "helper", "many"])
def test_a_size_of_one_is_captured_without_a_promise(name: str) -> None:
    program = exported(CAPTURED[name], Dim.AUTO)
    compare(CAPTURED[name], program.module())


def test_a_result_that_is_an_input_on_one_side_is_not_captured() -> None:
    """The program would return a copy."""

    def forward(x: Tensor) -> Tensor:
        return x if x.shape[0] == 1 else x * 2

    with pytest.raises(ConstraintViolation):
        exported(forward, Dim("n", min=1, max=12))
    compare(forward, exported(forward, Dim.AUTO).module(), (2, 6))


def test_other_sizes_are_narrowed_without_a_promise() -> None:
    program = exported(cuts, Dim.AUTO)
    compare(cuts, program.module(), (1, 3, 6))
    with pytest.raises(dynamo_lite.InputMismatch):
        program.module()(torch.randn(7, 4))


def test_an_example_on_the_other_side() -> None:
    for rows, name in itertools.product((3, 9), ("cuts", "name", "nested")):
        compare(CAPTURED[name], exported(CAPTURED[name], Dim("n", min=1, max=12), rows).module())


def test_effects_of_one_side_are_not_taken_for_none() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: Tensor) -> Tensor:
            if x.shape[0] > 3:
                self.calls.add_(1)
            return x * 2

    for rows in (2, 6):
        module, eager = Counts(), Counts()
        program = exported(module, Dim("n", min=1, max=12), rows).module()
        for size in (2, 6, 1, 9):
            x = torch.randn(size, 4)
            torch.testing.assert_close(program(x), eager(x))
        assert dict(program.named_buffers())["calls"] == eager.calls


def test_lists_that_one_side_adds_to_are_not_the_same() -> None:
    def forward(x: Tensor) -> Tensor:
        kept = [x]
        if x.shape[0] > 3:
            kept.append(x * 2)
        return torch.cat(kept)

    program = exported(forward, Dim.AUTO)
    for size in (4, 7):
        x = torch.randn(size, 4)
        torch.testing.assert_close(program.module()(x), forward(x))
    for size in (1, 2):
        x = torch.randn(size, 4)
        try:
            got = program.module()(x)
        except dynamo_lite.InputMismatch:
            continue
        torch.testing.assert_close(got, forward(x))


class _Numbers:
    def __init__(self) -> None:
        self.left = iter([1, 2, 3])

    def __iter__(self) -> Any:
        return self.left


ADVANCES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "in": (lambda: iter([1, 2, 3]), lambda numbers: 1 in numbers),
    "sum": (lambda: iter([1, 2, 3]), sum),
    "keyword": (lambda: iter([1, 2, 3]), lambda numbers: dict(zip("ab", numbers))),
    "tuple of zip": (lambda: zip([1, 2, 3]), tuple),
    "in a map": (lambda: map(abs, [1, 2, 3]), lambda numbers: 2 in numbers),
    "dict": (lambda: reversed([1, 2, 3]), dict.fromkeys),
    "join": (lambda: iter(["a", "b"]), ",".join),
    "starred": (lambda: iter([1, 2, 3]), lambda numbers: max(*numbers)),
    "within a list": (lambda: iter((1, 2)), lambda numbers: dict([numbers])),
    "generator": (lambda: (i for i in [1, 2, 3]), list),
    "an object's": (_Numbers, tuple),
    "next": (lambda: iter([1, 2, 3]), next),
}


@pytest.mark.parametrize("rows", [4, 5])
@pytest.mark.parametrize("spec", [Dim.AUTO, Dim("n", min=1, max=12)], ids=["auto", "named"])
@pytest.mark.parametrize("name", ADVANCES)
def test_iterators_that_one_side_advances_are_not_the_same(name: str, spec: Any, rows: int) -> None:
    make, use = ADVANCES[name]

    def forward(x: Tensor) -> Tensor:
        numbers = make()
        if x.shape[0] != 4:
            use(numbers)
        return x + len([*numbers])

    program = exported(forward, spec, rows).module()
    taken = 0
    for size in (1, 4, 5, 9):
        x = torch.randn(size, 4)
        try:
            got = program(x)
        except dynamo_lite.InputMismatch:
            assert spec is Dim.AUTO
            continue
        torch.testing.assert_close(got, forward(x))
        taken += 1
    assert taken


def test_random_numbers_of_one_side_count() -> None:
    def forward(x: Tensor) -> Tensor:
        noise = torch.rand(4) if x.shape[0] > 3 else torch.zeros(4)
        return x + noise * 0 + torch.rand(4)

    program = exported(forward, Dim.AUTO).module()
    for size in (1, 2, 6):
        x = torch.randn(size, 4)
        torch.manual_seed(3)
        want = forward(x)
        torch.manual_seed(3)
        try:
            got = program(x)
        except dynamo_lite.InputMismatch:
            continue
        torch.testing.assert_close(got, want)


def test_a_side_that_raises_is_a_demand_that_eager_makes() -> None:
    def forward(x: Tensor) -> Tensor:
        if x.shape[0] > 9:
            raise ValueError("too long")
        return x * 2

    program = exported(forward, Dim("n", min=1))
    assert any("<= 9" in note for note in program.notes)
    compare(forward, program.module(), (1, 5, 9))
    with pytest.raises(ConstraintViolation, match="<= 9"):
        exported(forward, Dim("n", min=1, max=20))


def test_a_table_ends_where_it_ends_in_eager() -> None:
    class Embeds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(9, 4)
            self.register_buffer("ids", torch.arange(9)[None])

        def forward(self, x: Tensor) -> Tensor:
            return x + self.table(self.ids[:, : x.shape[0]])

    module = Embeds()
    for spec in (Dim("n"), Dim("n", min=1), Dim.AUTO):
        program = exported(module, spec).module()
        for size in (1, 2, 9):
            x = torch.randn(size, 4)
            torch.testing.assert_close(program(x), module(x))
        with pytest.raises(dynamo_lite.InputMismatch):
            program(torch.randn(10, 4))
    with pytest.raises(ConstraintViolation):
        exported(module, Dim("n", max=20))


def test_the_first_rows_of_a_table_are_as_many_as_there_are() -> None:
    def forward(x: Tensor) -> Tensor:
        return torch.arange(7.0)[: x.shape[0]].sum() + x.sum()

    program = exported(forward, Dim("n", min=1)).module()
    for size in (1, 6, 7, 9):
        x = torch.randn(size, 4)
        torch.testing.assert_close(program(x), forward(x))


def test_what_no_operator_gives_is_refused_by_the_line() -> None:
    def forward(x: Tensor) -> Tensor:
        return x.squeeze(0) if x.shape[0] == 1 else x

    with pytest.raises(ConstraintViolation, match=r"x\.squeeze"):
        exported(forward, Dim("n", min=1, max=12))


def test_what_both_sides_read_is_guarded() -> None:
    class Flagged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.flag = False

        def forward(self, x: Tensor) -> Tensor:
            scaled = x.shape[0] > 3 and self.flag
            return x * 2 if scaled else x

    module = Flagged()
    trace = dynamo_lite.trace(module, (torch.randn(2, 4),), dynamic_shapes=({0: Dim("n", min=1)},))
    compare(module, trace.program.module())
    module.flag = True
    failure = trace.guards.check(module, (torch.randn(2, 4),), {})
    assert failure is not None and "flag" in str(failure.guard)


def test_a_first_call_that_installs_something_with_varying_sizes() -> None:
    class Installs(nn.Module):
        installed = False

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            if not self.installed:
                self.installed = True
            rows = x.shape[0]
            x = x + torch.zeros(1, 4).expand(rows, 4)[:, :]
            return sum(y[i] for i in range(y.shape[0])) + x.sum()

    args = (torch.randn(3, 4), torch.randn(2))
    shapes = ({0: Dim.AUTO}, {0: Dim.AUTO})
    program = dynamo_lite.export(Installs(), args, dynamic_shapes=shapes).module()
    for rows in (1, 2, 5):
        args = (torch.randn(rows, 4), torch.randn(2))
        torch.testing.assert_close(program(*args), Installs()(*args))


SMALL: dict[str, Forward] = {
    "contiguous": lambda x: x.t().contiguous(),
    "flatten": lambda x: x.t().flatten(),
    "reshape": lambda x: x.view(-1, 2, 2).transpose(0, 1).reshape(2, -1),
    "index put": lambda x: torch.zeros(16, 4).index_put((torch.arange(x.shape[0]),), x),
    "index assigned": lambda x: _assigned(torch.zeros(16, 4), torch.arange(x.shape[0]), x),
    "two indices": lambda x: _assigned(torch.zeros(16, 16, 4), (torch.arange(x.shape[0]),) * 2, x),
    "inner index": lambda x: _assigned(torch.zeros(2, 16, 4), (slice(None), torch.arange(x.shape[0])), x),
    "complex": lambda x: torch.view_as_real(torch.polar(torch.ones_like(x), x)),
    "cache": lambda x: _added(torch.ones(16, 4), torch.arange(x.shape[0]), x),
}


def _assigned(out: Tensor, at: Any, value: Tensor) -> Tensor:
    out[at] = value
    return out


def _added(out: Tensor, at: Any, value: Tensor) -> Tensor:
    out[at] += value
    return out


@pytest.mark.parametrize("spec", [Dim.AUTO, Dim("n", min=1)], ids=["auto", "named"])
@pytest.mark.parametrize("name", SMALL)
def test_operators_ask_nothing_of_a_size_of_one(name: str, spec: Any) -> None:
    program = exported(SMALL[name], spec).module()
    for size in (1, 2, 5):
        x = torch.randn(size, 4)
        got, want = program(x.clone()), SMALL[name](x.clone())
        torch.testing.assert_close(got, want)
        assert got.stride() == want.stride()


def test_a_comprehension_over_a_range_within_a_side() -> None:
    def forward(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x * sum([i * i for i in range(3)])
        return x

    program = dynamo_lite.export(forward, (torch.ones(3),)).module()
    for sign in (1, -1):
        torch.testing.assert_close(program(sign * torch.ones(3)), forward(sign * torch.ones(3)))


def test_a_module_leaves_the_program_as_it_is() -> None:
    """Branches within one another: the sub-graphs of a module were the program's own, which no longer saved."""

    class Nested(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.shape[0] > 3:
                y = x.sin()
                if x.shape[0] > 6:
                    y = y.cos() * y.sum()
                return y * 2
            return x.exp()

    program = dynamo_lite.export(Nested(), (torch.randn(4, 2),), dynamic_shapes=({0: Dim("n", min=1)},))
    program.module()
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for run in (program.module(), torch.export.load(file).module()):
        for rows in (1, 4, 8):
            x = torch.randn(rows, 2)
            torch.testing.assert_close(run(x), Nested()(x))
