"""Generated programs over sizes: where the program admits the sizes it equals eager, and where eager raises it does.

`python -m benchmarks.size_soundness` runs thousands of them.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import DataDependent

from .generated_sizes import judge, load, same, unbacked_program


def ours(module: nn.Module, args: tuple[Any, ...], dynamic_shapes: Any) -> Any:
    return dynamo_lite.export(module, args, dynamic_shapes=dynamic_shapes).module()


@pytest.mark.parametrize("seed", range(24))
def test_equals_eager_at_every_size_it_admits(seed: int) -> None:
    verdict = judge(seed, ours)
    assert verdict.kind in ("equal", "nothing"), verdict.text
    assert verdict.kind == "nothing" or verdict.admitted > 1


# -- the same with values from run time ------------------------------------------------------------------------------

ADVICE = re.compile(r'before line (\d+) of ".*" \(in \w+\):\n((?:    torch\._check\(.*\)\n)+)')


def data(n: int, m: int) -> tuple[torch.Tensor, ...]:
    return torch.linspace(-2, 2, 18).view(6, 3), torch.full((2, 2), 0.5), torch.tensor([m - 1, 1]), torch.tensor(n)


def settled(source: str, error: DataDependent, name: str) -> str | None:
    """The source with the check of the message that holds in the example; None if a number is needed."""
    found = ADVICE.search(str(error))
    assert found is not None, str(error)
    if "== N)" in found[2]:
        return None
    lines, at = source.split("\n"), int(found[1]) - 1
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    for check in found[2].splitlines():
        changed = "\n".join([*lines[:at], indent + check.strip(), *lines[at:]])
        try:
            load(changed, name)(*data(4, 3))
        except RuntimeError:
            continue
        return changed
    raise AssertionError(f"neither holds: {found[2]}")


def exported(source: str, name: str) -> tuple[Any, Any] | None:
    """(program, forward with checks), once every question is settled; None if a number is needed."""
    for count in range(20):
        function = load(source, f"{name} {count}>")

        class Model(nn.Module):
            def forward(self, x, y, t, k, function=function):
                return function(x, y, t, k)

        try:
            return dynamo_lite.export(Model(), data(4, 3)).module(), function
        except DataDependent as error:
            changed = settled(source, error, f"{name} {count} changed>")
        if changed is None:
            return None
        source = changed
    raise AssertionError("the checks do not settle it")


@pytest.mark.parametrize("seed", range(20))
def test_values_from_run_time_equal_eager_where_the_checks_hold(seed: int) -> None:
    source = unbacked_program(seed)
    result = exported(source, f"<unbacked {seed}")
    if result is None:
        return
    program, checked = result
    plain = load(source, f"<unbacked {seed} plain>")
    for n in range(-2, 8):
        for m in (3,) if n % 3 else (-2, 0, 1, 7):
            try:
                got = program(*data(n, m))
            except (RuntimeError, ArithmeticError, ValueError, IndexError):
                with pytest.raises((RuntimeError, ArithmeticError, ValueError, IndexError)):
                    checked(*data(n, m))
                continue
            assert same(got, plain(*data(n, m)))
