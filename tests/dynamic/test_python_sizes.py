"""Sizes in Python code: symbolic where they can be, fixed with a recorded reason where Python needs the number."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite

from . import size_programs_objects  # noqa: F401  (adds its programs)
from .size_programs import PROGRAMS, Program, Shapes


def module_of(forward: Any, count: int) -> nn.Module:
    """A module with `count` tensor arguments."""

    class One(nn.Module):
        def forward(self, x):
            return forward(x)

    class Two(nn.Module):
        def forward(self, x, y):
            return forward(x, y)

    return (One, Two)[count - 1]()


def arguments(shapes: Shapes, seed: int = 0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


def export(program: Program, **options: Any) -> torch.export.ExportedProgram:
    spec = tuple({0: Dim.AUTO} for _ in program.shapes)
    module = module_of(program.forward, len(spec))
    return dynamo_lite.export(module, arguments(program.shapes), dynamic_shapes=spec, **options)


def assert_same(got: Any, want: Any) -> None:
    got_leaves, want_leaves = pytree.tree_leaves(got), pytree.tree_leaves(want)
    assert len(got_leaves) == len(want_leaves)
    for left, right in zip(got_leaves, want_leaves):
        assert type(left) is type(right)
        if isinstance(left, torch.Tensor):
            torch.testing.assert_close(left, right, equal_nan=True)
        else:
            assert left == right


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_equals_eager_wherever_it_admits(program: Program) -> None:
    exported = export(program)
    run = exported.module()
    assert_same(run(*arguments(program.shapes, 1)), program.forward(*arguments(program.shapes, 1)))
    admitted = []
    for shapes in program.also:
        try:
            got = run(*arguments(shapes, 2))
        except RuntimeError as error:
            assert "expected" in str(error)
            continue
        assert_same(got, program.forward(*arguments(shapes, 2)))
        admitted.append(shapes)
    if program.keeps:
        assert admitted == list(program.also), exported._guards_code
        assert not {s.expression for s in exported.specializations} & {"s0", "s1"}


def test_programs_are_many() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS) > 90


REASONS = {
    "greatest_common_divisor": "gcd() needs the number",
    "loop_over_a_range": "range() needs the number",
    "slice_of_a_list": "this needs the number",
    "rows_of_a_tensor": "enumerate() needs the number",
    "numpy_of_sizes": "array() needs the number",
    "json_text": "dumps() needs the number",
}


@pytest.mark.parametrize("name", REASONS)
def test_a_number_that_is_taken_has_its_line_and_reason(name: str) -> None:
    program = next(p for p in PROGRAMS if p.name == name)
    taken = export(program, control_flow="refuse").specializations
    assert (taken[0].expression, taken[0].value) == ("s0", 8)
    assert taken[0].why == REASONS[name]
    first = program.forward.__code__.co_firstlineno
    assert taken[0].origin.file == program.forward.__code__.co_filename
    assert first < taken[0].origin.line <= first + 6
    assert str(taken[0]).startswith("s0 == 8: ") and taken[0].origin.code in str(taken[0])


def test_a_branch_is_a_guard_with_the_users_line() -> None:
    program = next(p for p in PROGRAMS if p.name == "chained_comparison")
    first = ({0: Dim.AUTO(min=2)},)
    made = dynamo_lite.export(module_of(program.forward, 1), (torch.ones(8, 3),), dynamic_shapes=first)
    guards = [code for code in made._guards_code if "size()" in code]
    assert guards == ["7 <= L['x'].size()[0] <= 99"]


def test_the_stop_of_a_range_is_the_size() -> None:
    def forward(x):
        r = range(0, x.shape[0], 4)
        return x * r.stop + len(r)

    program = dynamo_lite.export(module_of(forward, 1), (torch.ones(8, 3),), dynamic_shapes=({0: Dim.AUTO},))
    for n in (5, 6, 7, 8):
        assert_same(program.module()(torch.ones(n, 3)), forward(torch.ones(n, 3)))
    with pytest.raises(RuntimeError):
        program.module()(torch.ones(9, 3))


def test_a_size_that_a_later_call_would_read_is_refused() -> None:
    class Counts(nn.Module):
        count = 3

        def forward(self, x):
            self.count = self.count + x.shape[0]
            return x * self.count

    module = Counts()
    before = dict(module.__dict__)
    with pytest.raises(dynamo_lite.errors.GraphBreak) as caught:
        dynamo_lite.export(module, (torch.ones(8, 3),), dynamic_shapes=({0: Dim.AUTO},))
    assert caught.value.id == "python-state"
    assert module.__dict__ == before


def test_a_size_in_a_scratch_attribute_is_rolled_back() -> None:
    class Keeps(nn.Module):
        last = 3

        def forward(self, x):
            self.last = x.shape[0]
            self.table = {"n": self.last}
            return x * self.table["n"]

    module = Keeps()
    before = dict(module.__dict__)
    program = dynamo_lite.export(module, (torch.ones(8, 3),), dynamic_shapes=({0: Dim.AUTO},))
    assert module.__dict__ == before
    assert_same(program.module()(torch.ones(5, 3)), Keeps()(torch.ones(5, 3)))


def test_torch_types_are_as_they_were_after_a_trace() -> None:
    kinds = (torch.SymInt, torch.SymFloat, torch.SymBool)
    before = [dict(vars(kind)) for kind in kinds]
    for program in (PROGRAMS[0], next(p for p in PROGRAMS if p.name == "text")):
        export(program)
    assert [dict(vars(kind)) for kind in kinds] == before


def _talks(x: Tensor) -> Tensor:
    warnings.warn(f"a shape of {x.shape}", stacklevel=2)
    logging.getLogger(__name__).warning("%s", f"{x.shape}", extra={"rows": 1})
    torch._assert(x.dim() == 2, f"two dimensions, not {x.shape}")
    torch._assert(condition=x.shape[0] < 50, message="too many: {}".format(x.shape[0]))  # noqa: UP032
    return x * 2


def test_texts_that_nobody_sees_fix_no_size() -> None:
    program = dynamo_lite.export(_talks, (torch.randn(3, 4),), dynamic_shapes=({0: Dim("rows", max=40)},))
    x = torch.randn(7, 4)
    torch.testing.assert_close(program.module()(x), x * 2)


def test_the_text_of_an_assertion_that_fails_is_eagers() -> None:
    with pytest.raises(AssertionError, match="too many: 60"):
        dynamo_lite.export(_talks, (torch.randn(60, 4),), dynamic_shapes=({0: Dim("rows", max=80)},))
