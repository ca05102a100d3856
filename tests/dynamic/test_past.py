"""What was found out in an earlier recording changes nothing: programs, facts and refusals are those of a first one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim, ExportedProgram

import dynamo_lite
from dynamo_lite.symbolic_shapes.torch_env import shared_history
from tests.dynamic.generated_sizes import judge
from tests.dynamic.test_shape_rules import PROGRAMS


def shown(program: ExportedProgram) -> Any:
    """Everything of a program that sizes decide: nodes, the look of their values, ranges, guards."""
    nodes = []
    for node in program.graph.nodes:
        value = node.meta.get("val")
        values = value if isinstance(value, (tuple, list)) else [value]
        looks = [(str(v.shape), str(v.stride()), str(v.storage_offset()), v.dtype, v.requires_grad)
                 for v in values if isinstance(v, Tensor)]  # fmt: skip
        nodes.append((node.op, node.name, str(node.target), str(node.args), str(node.kwargs), looks))
    return nodes, str(program.range_constraints), list(program._guards_code)


def exported(program: Callable[..., Any], args: tuple[Tensor, ...], dim: Any = Dim.AUTO) -> Any:
    shapes = tuple(dict.fromkeys(range(arg.dim()), dim) for arg in args)
    return shown(dynamo_lite.export(program, args, dynamic_shapes=shapes))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_second_export_is_the_first(name: str) -> None:
    program, args = PROGRAMS[name]
    shared_history.forget()
    first = exported(program, args)
    assert exported(program, args) == first
    assert exported(program, args) == first


def test_kernels_do_not_run_again() -> None:
    # Seen by what is asked: the second export asks none of its questions of a kernel a second time.
    def program(x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x, y], 0).softmax(-1)[1:].sum(0)

    args = (torch.randn(6, 4), torch.randn(3, 4))
    shapes = ({0: Dim.AUTO}, {0: Dim.AUTO})
    shared_history.forget()
    dynamo_lite.export(program, args, dynamic_shapes=shapes)
    kept = shared_history.kept()
    assert kept > 0
    dynamo_lite.export(program, args, dynamic_shapes=shapes)
    assert shared_history.kept() == kept


def branching(x: Tensor, y: Tensor) -> Tensor:
    z = torch.cat([x, y], 0).flatten()
    return z[2:] if z.shape[0] > 20 else z.reshape(-1, 2)


PAIRS = [((6, 4), (3, 4)), ((2, 4), (2, 4)), ((6, 4), (1, 4)), ((5, 2), (6, 2)), ((3, 4), (3, 4))]


def test_other_examples_and_ranges_are_another_past() -> None:
    alone = []
    for a, b in PAIRS:
        shared_history.forget()
        alone.append(exported(branching, (torch.randn(a), torch.randn(b))))
    shared_history.forget()
    for _ in range(2):
        assert [exported(branching, (torch.randn(a), torch.randn(b))) for a, b in PAIRS] == alone
    narrow = Dim("n", min=4, max=9)
    shapes = ({0: narrow}, {0: Dim.STATIC})
    args = (torch.randn(6, 4), torch.randn(3, 4))
    program = dynamo_lite.export(branching, args, dynamic_shapes=shapes)
    ranges = [(int(r.lower), int(r.upper)) for r in program.range_constraints.values()]
    assert ranges == [(4, 9)]


def test_gradients_are_part_of_it() -> None:
    def program(x: Tensor, w: Tensor) -> Tensor:
        out = torch.cat([x, x]) @ w
        return out.exp() if out.requires_grad else out.sin()

    x, shapes = torch.randn(3, 4), ({0: Dim.AUTO}, None)
    for grad in (False, True, False):
        w = torch.randn(4, 2, requires_grad=grad)
        run = dynamo_lite.export(program, (x, w), dynamic_shapes=shapes).module()
        torch.testing.assert_close(run(x, w), program(x, w))


@pytest.mark.parametrize("seed", range(40))
def test_generated_programs_again(seed: int) -> None:
    def export(module: torch.nn.Module, args: tuple[Any, ...], dynamic_shapes: Any) -> Callable[..., Any]:
        return dynamo_lite.export(module, args, dynamic_shapes=dynamic_shapes).module()

    shared_history.forget()
    first, again = judge(seed, export), judge(seed, export)
    assert (first.kind, first.admitted) == (again.kind, again.admitted)
