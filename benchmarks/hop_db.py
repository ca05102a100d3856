"""torch's own samples of higher-order operators (torch.testing._internal.hop_db), exported by us and by torch.export.

    python -m benchmarks.hop_db [--samples 5] [--write]

Each sample becomes a module whose inputs are the sample's tensors. A cell says what came of it: equal to eager, an
error at export (with its first words), or another value.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.testing._internal.hop_db import hop_db
from torch.utils import _pytree as pytree

import dynamo_lite

RESULTS = Path(__file__).parent / "results" / "hop_db.md"
Export = Callable[[nn.Module, tuple[Any, ...]], Any]


class Sample(nn.Module):
    """A sample's call as a program of its tensors."""

    def __init__(self, op: Callable[..., Any], call: Any) -> None:
        super().__init__()
        self.op = op
        self.leaves, self.spec = pytree.tree_flatten(call)
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = tuple(self.leaves[i] for i in self.places)

    def forward(self, *tensors: torch.Tensor) -> Any:
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.op(*args, **kwargs)


def ours(module: nn.Module, args: tuple[Any, ...]) -> Any:
    return dynamo_lite.export(module, args)


def strict(module: nn.Module, args: tuple[Any, ...]) -> Any:
    return torch.export.export(module, args, strict=True)


def samples() -> Iterator[tuple[str, bool, Sample]]:
    """(name, whether the inputs take gradients, module) of each sample in float32 on the CPU."""
    for info in hop_db:
        for gradients in (False, True):
            name = f"{info.name} ({info.variant_test_name})"
            for sample in info.sample_inputs("cpu", torch.float32, requires_grad=gradients):
                yield name, gradients, Sample(info.op, ((sample.input, *sample.args), sample.kwargs))


def outcome(export: Export, module: Sample) -> str:
    torch._dynamo.reset()
    try:
        program = export(module, module.tensors)
    except Exception as error:
        return f"error: {_first_words(error)}"
    try:
        given = program.module()(*_copies(module.tensors))
    except Exception as error:
        return f"does not run: {_first_words(error)}"
    try:
        expected = module(*_copies(module.tensors))
    except Exception as error:
        return f"runs; eager itself fails: {_first_words(error)}"
    pairs = zip(pytree.tree_leaves(expected), pytree.tree_leaves(given), strict=True)
    equal = all(
        torch.allclose(a, b, atol=1e-5, equal_nan=True) if isinstance(a, torch.Tensor) else a == b for a, b in pairs
    )
    return "equal" if equal else "**another value**"


def _copies(tensors: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return tuple(t.detach().clone().requires_grad_(t.requires_grad) for t in tensors)


def _first_words(error: Exception, limit: int = 110) -> str:
    text = f"{type(error).__name__}: {error}".strip().replace("|", "/")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines)[:limit]


def table(most: int | None = None) -> str:
    """Of all samples, or the first `most`."""
    rows = ["| sample | inputs take gradients | dynamo-lite | torch.export strict |", "|---|---|---|---|"]
    print(*rows, sep="\n")
    for name, gradients, module in islice(samples(), most):
        cells = [outcome(export, module) for export in (ours, strict)]
        rows.append(f"| {name} | {'yes' if gradients else 'no'} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, help="so many; all by default")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    text = table(options.samples)
    if options.write:
        head = "# torch's samples of higher-order operators\n\n"
        how = f"torch {torch.__version__}. Written by `python -m benchmarks.hop_db --write`.\n\n"
        RESULTS.write_text(head + how + text + "\n")


if __name__ == "__main__":
    main()
