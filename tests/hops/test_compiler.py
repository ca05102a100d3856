"""torch.compiler's helpers and marks, as torch.export's strict mode takes them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.out_dtype import out_dtype
from torch._higher_order_ops.strict_mode import strict_mode

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from tests.hops.cond_programs import Base, X
from tests.hops.harness import Program, check_equal


@torch.compiler.allow_in_graph
def allowed(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


@torch.compiler.nested_compile_region
def region(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.sin() + y


@torch.compiler.assume_constant_result
def constant() -> int:
    return 7


@torch.compiler.disable
def disabled(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def _program(name: str, forward: Any) -> Program:
    return Program(name, type(name, (Base,), {"forward": forward}), [(X,)], lowers=False)


PROGRAMS = [
    _program("allow_in_graph", lambda self, x: allowed(x)),
    _program("nested_compile_region", lambda self, x: region(x, self.scale) + region(x, x)),
    _program("assume_constant_result", lambda self, x: x + constant()),
    _program("strict_mode", lambda self, x: strict_mode(lambda x, y: {"a": (x + y, [x * self.scale])}, (x, x.sin()))),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_equals_eager(program: Program) -> None:
    check_equal(program)


def test_a_trace_says_that_it_is_one() -> None:
    def forward(self: Base, x: torch.Tensor) -> torch.Tensor:
        flags = (torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling(), torch.compiler.is_exporting())
        return x + sum(10**i for i, flag in enumerate(flags) if flag)

    program = dynamo_lite.export(type("M", (Base,), {"forward": forward})(), (X,))
    assert torch.equal(program.module()(X), X + 111)
    assert not torch.compiler.is_exporting()


def test_what_is_disabled_is_captured() -> None:
    class Disabled(Base):
        def __init__(self) -> None:
            super().__init__()
            self.bound = torch.compiler.disable(self.shifted)

        def shifted(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale + 1

        @torch.compiler.disable(recursive=False)
        def alone(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return disabled(x) + self.bound(x) + self.alone(x) + torch.compiler.disable(self.shifted)(x)

    module = Disabled()
    program = dynamo_lite.export(module, (X,))
    torch.testing.assert_close(program.module()(X), module(X))
    assert any("torch.compiler.disable" in str(note) for note in program.notes)


def test_a_hook_on_a_gradient_is_refused() -> None:
    def forward(self: Base, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        y.register_hook(lambda g: g * 2)
        return y

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(type("M", (Base,), {"forward": forward})(), (X,))
    assert caught.value.id == "gradient-hook"


def test_hints_are_kept_for_the_compiler() -> None:
    def forward(self: Any, x: torch.Tensor) -> Any:
        def inner(y: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"sum": y + self.scale + y.shape[0], "sin": y.sin()}

        def outer(y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            made = hints_wrapper(inner, (y * 2,), {}, hints={"fused": True})
            return made["sin"], made["sum"].abs()

        return hints_wrapper(outer, [x], {}, {"scale": 2.0, "name": "outer"})

    kind = type("Hinted", (Base,), {"forward": forward})
    with torch.no_grad():
        check_equal(Program("hints", kind, [(X,)], lowers=False))
        program = dynamo_lite.export(kind(), (X,), dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}})
        for each in (program, program.run_decompositions({})):
            (node,) = each.graph.find_nodes(op="call_function", target=hints_wrapper)
            assert node.kwargs == {"hints": {"scale": 2.0, "name": "outer"}}
            torch.testing.assert_close(each.module()(torch.ones(7, 3)), kind()(torch.ones(7, 3)))


class Wider(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return out_dtype(torch.ops.aten.mm.default, torch.int32, x, y) + 1


@pytest.mark.parametrize("strict", [True, False])
def test_an_operator_that_another_is_given_is_part_of_the_call(strict: bool) -> None:
    x, y = (torch.randint(-128, 127, (4, 4), dtype=torch.int8) for _ in range(2))
    program = dynamo_lite.export(Wider(), (x, y), strict=strict)
    assert "out_dtype(torch.ops.aten.mm.default, torch.int32, x, y)" in program.graph_module.code
    for run in (program.module(), program.run_decompositions().module()):
        torch.testing.assert_close(run(y, x), Wider()(y, x))
