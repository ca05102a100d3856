"""torch's own samples of operators and modules, exported by us; and by torch.export strict where we refuse.

    python -m benchmarks.operators [--suite op_db,module_db] [--only REGEX] [--samples 2] [--dtype float32]
                                   [--dynamic] [--write]

Each sample becomes a module whose inputs are the sample's tensors; the program is run on copies of them and compared
with eager (results, and inputs changed in place). `--dynamic` lets all sizes of the inputs vary (Dim.AUTO).
`--write` keeps the table in benchmarks/results/operators.md (operators_dynamic.md).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite
from benchmarks.time_limit import TimeIsUp, time_limit

RESULTS = Path(__file__).parent / "results" / "operators.md"
SUITES = ("op_db", "module_db", "custom_op_db", "autograd_function_db")
EQUAL, OTHER, REFUSED, FAILS, EAGER = "equal", "another value", "error at export", "does not run", "eager fails"
SECONDS = 60
_UNSET = ("empty", "new_empty")  # results whose values are not set


class Sample(nn.Module):
    """A sample's call as a program of its tensors."""

    def __init__(self, op: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.op = op
        self.leaves, self.spec = pytree.tree_flatten((tuple(args), kwargs))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = tuple(self.leaves[i] for i in self.places)
        for place in self.places:
            self.leaves[place] = None

    def forward(self, *tensors: torch.Tensor) -> Any:
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.op(*args, **kwargs)


@dataclass
class Result:
    """What came of one sample: our outcome and words, and torch.export's where ours is not EQUAL."""

    suite: str
    name: str
    ours: str
    words: str = ""
    strict: str = ""
    strict_words: str = ""


def samples(suite: str, only: str, count: int, dtype: torch.dtype) -> Iterator[tuple[str, Sample]]:
    """(name, module) of the first `count` samples of each entry of a suite that has this dtype on the CPU."""
    if suite == "module_db":
        yield from _modules(only, count, dtype)
        return
    for info in _entries(suite):
        name = info.name + (f" ({info.variant_test_name})" if info.variant_test_name else "")
        if not re.search(only, name) or not _supports(info, dtype):
            continue
        for index, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=False)):
            if index == count:
                break
            yield name, Sample(info.op, (sample.input, *sample.args), sample.kwargs)


def _supports(info: Any, dtype: torch.dtype) -> bool:
    return info.dtypes is None or dtype in info.dtypes


def _entries(suite: str) -> list[Any]:
    if suite == "op_db":
        from torch.testing._internal import common_methods_invocations as invocations

        invocations.wrapper_set_seed = _without_seed  # `outcome` seeds; manual_seed is refused
        return list(invocations.op_db)
    if suite == "custom_op_db":
        from torch.testing._internal.custom_op_db import custom_op_db

        return list(custom_op_db)
    from torch.testing._internal.autograd_function_db import autograd_function_db

    return list(autograd_function_db)


def _without_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return op(*args, **kwargs)


def _modules(only: str, count: int, dtype: torch.dtype) -> Iterator[tuple[str, Sample]]:
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        if not re.search(only, info.name) or dtype not in info.dtypes:
            continue
        inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=False)
        for index, sample in enumerate(inputs):
            if index == count:
                break
            made = sample.constructor_input
            module = info.module_cls(*made.args, **{**made.kwargs}).to(dtype).eval()
            call = sample.forward_input
            yield info.name, Sample(module, call.args, call.kwargs)


def ours(module: Sample, dynamic: bool = False) -> Any:
    return dynamo_lite.export(module, module.tensors, dynamic_shapes=_shapes(module, dynamic))


def strict(module: Sample, dynamic: bool = False) -> Any:
    torch._dynamo.reset()
    return torch.export.export(module, module.tensors, dynamic_shapes=_shapes(module, dynamic), strict=True)


def _shapes(module: Sample, dynamic: bool) -> Any:
    if not dynamic or not module.tensors:
        return None
    return (tuple([Dim.AUTO] * t.dim() for t in module.tensors),)


def outcome(export: Callable[..., Any], name: str, module: Sample, dynamic: bool) -> tuple[str, str]:
    """(what came of it, its first words)."""
    expected_inputs, given_inputs = _copies(module.tensors), _copies(module.tensors)
    torch.manual_seed(0)
    try:
        expected = module(*expected_inputs)
    except Exception as error:
        return EAGER, first_words(error)
    try:
        with time_limit(SECONDS):
            program = export(module, dynamic)
    except (Exception, TimeIsUp) as error:
        return REFUSED, first_words(error)
    torch.manual_seed(0)
    try:
        given = program.module()(*given_inputs)
    except Exception as error:
        return FAILS, first_words(error)
    if isinstance(expected, torch.Tensor) and name.startswith(_UNSET):
        expected, given = expected.shape, given.shape
    try:
        torch.testing.assert_close(given, expected, equal_nan=True, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(given_inputs, expected_inputs, equal_nan=True)
    except Exception as error:
        return OTHER, first_words(error)
    return EQUAL, ""


def _copies(tensors: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return tuple(t.detach().clone().requires_grad_(t.requires_grad) for t in tensors)


def first_words(error: BaseException, limit: int = 160) -> str:
    text = f"{type(error).__name__}: {error}".strip().replace("|", "/")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines)[:limit]


def sweep(options: argparse.Namespace) -> Iterator[Result]:
    dtype = getattr(torch, options.dtype)
    for suite in options.suite.split(","):
        for name, module in samples(suite, options.only, options.samples, dtype):
            result = Result(suite, name, *outcome(ours, name, module, options.dynamic))
            if result.ours not in (EQUAL, EAGER) and not options.no_strict:
                result.strict, result.strict_words = outcome(strict, name, module, options.dynamic)
            yield result


def report(results: list[Result]) -> str:
    kinds = (EQUAL, OTHER, REFUSED, FAILS)
    lines = [f"| suite | samples | {' | '.join(kinds)} | gaps (torch.export gives equal) |", "|---" * 7 + "|"]
    for suite in SUITES:
        mine = [r for r in results if r.suite == suite and r.ours != EAGER]
        if mine:
            counts = Counter(r.ours for r in mine)
            gaps = sum(r.strict == EQUAL for r in mine)
            cells = (len(mine), *(counts[kind] for kind in kinds), gaps)
            lines.append(f"| {suite} | " + " | ".join(map(str, cells)) + " |")
    lines += ["", "Not equal to eager:", "", "| sample | dynamo-lite | torch.export strict |", "|---|---|---|"]
    seen = Counter(
        (f"{r.suite} {r.name}", f"{r.ours}: {r.words}", f"{r.strict}: {r.strict_words}".rstrip(": "))
        for r in results
        if r.ours not in (EQUAL, EAGER)
    )
    lines += [f"| {a}{f' x{n}' if n > 1 else ''} | {b} | {c} |" for (a, b, c), n in seen.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default=",".join(SUITES))
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--no-strict", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start, results = time.monotonic(), []
    for result in sweep(options):
        results.append(result)
        if result.ours not in (EQUAL, EAGER):
            print(result, flush=True)
    text = report(results)
    print(text.split("\n\n")[0], f"{time.monotonic() - start:.0f} s", flush=True)
    if options.write:
        how = f"torch {torch.__version__}, {options.dtype}, {'all sizes Dim.AUTO' if options.dynamic else 'static'}; "
        command = " ".join(["python -m benchmarks.operators", *sys.argv[1:]])
        how += f"up to {options.samples} samples an entry. Written by `{command}`."
        results_file = RESULTS.with_stem("operators_dynamic") if options.dynamic else RESULTS
        results_file.write_text(f"# torch's samples of operators and modules\n\n{how}\n\n{text}\n")


if __name__ == "__main__":
    main()
