"""torch's operator samples (op_db) under FakeTensorMode with symbolic sizes: our shape environment, torch's, and eager.

    python benchmarks/op_db_symbolic.py [--samples 3] [--ops add,view] [--write] [--list ours-only]

For each sample every tensor input gets symbols for its sizes, the operator runs on fake tensors, and the results'
dtypes, sizes and strides, with the example's values put in for the symbols, are compared with eager's. Sizes that
only run time knows match anything. Equal sizes share a symbol, 0 and 1 stay numbers: torch's own default, in both
environments; and, in ours, once more with a symbol of its own for every size from 1 on.
`--write` keeps the counts in benchmarks/results/op_db_symbolic.md.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import torch.utils._pytree as pytree  # noqa: E402
from torch._dispatch.python import enable_python_dispatcher  # noqa: E402
from torch._dynamo.source import ConstantSource  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily  # noqa: E402
from torch.fx.experimental.symbolic_shapes import (  # noqa: E402
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from symbolic_shapes.fake_cache import fake_mode  # noqa: E402
from symbolic_shapes.torch_env import TorchShapeEnv  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "op_db_symbolic.md"
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
UNKNOWN = "only run time knows"

OURS, FREE, TORCH = "ours", "ours, each size its own symbol", "torch"
ENVIRONMENTS = (OURS, FREE, TORCH)
PASSED, WRONG, RAISED = "passed", "wrong", "raised"


@dataclass
class Outcome:
    """What one environment made of one sample: PASSED, WRONG or RAISED, and the difference or the error."""

    status: str
    text: str = ""


class NoSymbols(AssertionError):
    """An input came out with plain sizes: the comparison would compare nothing."""


@dataclass
class Sample:
    name: str
    call: Callable[[Callable[[Any], Any]], Any]
    """call(convert): run the operator with every tensor converted."""


@dataclass
class Tally:
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: {which: Counter() for which in ENVIRONMENTS})
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ENVIRONMENTS, 0.0))
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    worse: list[tuple[str, Outcome]] = field(default_factory=list)
    better: list[tuple[str, Outcome]] = field(default_factory=list)
    free: list[tuple[str, Outcome]] = field(default_factory=list)
    unusable: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    operators: set[str] = field(default_factory=set)


def samples(operators: list[Any], per_operator: int) -> Iterator[Sample]:
    """The first few samples of each operator that have a tensor with a size that can be a symbol."""
    for info in operators:
        dtype = next((d for d in DTYPES if d in info.supported_dtypes("cpu")), None)
        if dtype is None:
            continue
        torch.manual_seed(0)
        try:
            found = [s for s in itertools.islice(info.sample_inputs("cpu", dtype), 40) if _dynamic(s)]
        except RuntimeError as error:  # an optional library that is not there
            logging.getLogger(__name__).info("no samples of %s: %s", info.name, error)
            continue
        for number, sample in enumerate(found[:per_operator]):
            variant = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
            yield Sample(f"{variant}#{number}", _caller(info, sample))


def _dynamic(sample: Any) -> bool:
    leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
    plain = all(t.layout is torch.strided and not t.is_quantized and not t.is_nested for t in tensors)
    return plain and any(size > 1 for t in tensors for size in t.shape)


def _caller(info: Any, sample: Any) -> Callable[[Callable[[Any], Any]], Any]:
    def call(convert: Callable[[Any], Any]) -> Any:
        memo: dict[int, Any] = {}

        def once(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            if id(leaf) not in memo:
                memo[id(leaf)] = convert(leaf)
            return memo[id(leaf)]

        value, args, kwargs = pytree.tree_map(once, (sample.input, sample.args, sample.kwargs))
        return info.op(value, *args, **kwargs)

    return call


# -- running ---------------------------------------------------------------------------------------------------
def _mode(which: str) -> FakeTensorMode:
    if which != TORCH:
        duck = which == OURS
        return fake_mode(TorchShapeEnv(duck_shape=duck, specialize_zero_one=duck), allow_non_fake_inputs=True)
    return FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True, export=True)


def run(sample: Sample, which: str, expected: list[Any]) -> Outcome:
    """One sample in one environment, against what eager gave; twice in ours: the second run finds the cache filled."""
    mode = _mode(which)
    numbers = itertools.count()

    def convert(tensor: torch.Tensor) -> Any:
        context: Any = StatelessSymbolicContext([DimDynamic.DUCK] * tensor.dim())
        source = ConstantSource(f"x{next(numbers)}")
        with unset_fake_temporarily():  # a copy made in the mode would be a fake with plain sizes
            copy = tensor.detach().clone()
        fake = mode.from_tensor(copy, source=source, symbolic_context=context)
        plain = not any(isinstance(size, torch.SymInt) for size in fake.shape)
        # (a guard may have given a size its number, before the second run)
        if plain and any(size > 1 for size in tensor.shape) and not mode.shape_env.guards:  # type: ignore[union-attr]
            raise NoSymbols(f"{sample.name}, {which}: an input of {tuple(tensor.shape)} has no symbols")
        return fake

    for _ in range(1 if which == TORCH else 2):
        try:
            # with it, as in a trace: composite kernels in C++ would ask for plain sizes
            with mode, enable_python_dispatcher():
                result = sample.call(convert)
            given = [describe(leaf) for leaf in pytree.tree_leaves(result)]
        except NoSymbols:
            raise
        except Exception as error:  # whatever the operator raises is the outcome
            return Outcome(RAISED, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300])
        if len(given) != len(expected) or not all(map(same, given, expected)):
            wrong = [f"{g} instead of {e}" for g, e in itertools.zip_longest(given, expected)
                     if g is None or e is None or not same(g, e)]
            return Outcome(WRONG, "; ".join(wrong)[:300])
    return Outcome(PASSED)


def describe(leaf: Any) -> Any:
    """(dtype, sizes, strides) of a tensor, the value of a number, in the example."""
    if isinstance(leaf, torch.Tensor):
        if leaf.layout is not torch.strided:
            return leaf.dtype, tuple(map(hint, leaf.shape)), None
        return leaf.dtype, tuple(map(hint, leaf.shape)), tuple(map(hint, leaf.stride()))
    return hint(leaf)


def hint(value: Any) -> Any:
    if not isinstance(value, SYMBOLIC):
        return value
    known = value.node.hint
    return UNKNOWN if known is None else known


def same(given: Any, expected: Any) -> bool:
    """Equal where known; the strides of sizes 0 and 1, and of tensors without elements, do not matter."""
    if not isinstance(given, tuple):
        return given in (UNKNOWN, expected) or given != given or isinstance(given, float)
    (dtype, sizes, strides), (dtype2, sizes2, strides2) = given, expected
    if dtype != dtype2 or len(sizes) != len(sizes2):
        return False
    if any(a != b for a, b in zip(sizes, sizes2) if a != UNKNOWN):
        return False
    if strides is None or strides2 is None or UNKNOWN in sizes or 0 in sizes2:
        return True
    return all(a == b for a, b, size in zip(strides, strides2, sizes2) if size > 1 and a != UNKNOWN)


def compare(operators: list[Any], per_operator: int, progress: Callable[[str], None] = lambda _: None,
            stop: Callable[[], bool] = lambda: False) -> Tally:
    """The environments on all samples, taking turns; no further sample once `stop()`."""
    tally = Tally()
    for sample in samples(operators, per_operator):
        if stop():
            break
        torch.manual_seed(0)
        try:
            # A clone keeps the strides; operators change their arguments.
            expected = [describe(leaf) for leaf in pytree.tree_leaves(sample.call(lambda t: t.detach().clone()))]
        except Exception as error:  # a sample that eager refuses compares nothing
            progress(f"{sample.name}: eager raises {type(error).__name__}")
            tally.unusable += 1
            continue
        found: dict[str, Outcome] = {}
        for which in ENVIRONMENTS:
            start = time.perf_counter()
            found[which] = run(sample, which, expected)
            tally.seconds[which] += time.perf_counter() - start
            tally.outcomes[which][found[which].status] += 1
        tally.operators.add(sample.name.split("#")[0])
        tally.pairs[found[OURS].status, found[TORCH].status] += 1
        if found[TORCH].status == PASSED and found[OURS].status != PASSED:
            tally.worse.append((sample.name, found[OURS]))
            progress(f"{sample.name}: {found[OURS].status}: {found[OURS].text}")
        elif found[OURS].status == PASSED and found[TORCH].status != PASSED:
            tally.better.append((sample.name, found[TORCH]))
        elif found[OURS].status == RAISED:
            tally.refusals[found[OURS].text.split(":")[0]] += 1
        if found[OURS].status == PASSED and found[FREE].status != PASSED:
            tally.free.append((sample.name, found[FREE]))
            progress(f"{sample.name} with its own symbols: {found[FREE].status}: {found[FREE].text}")
    return tally


# -- the report ------------------------------------------------------------------------------------------------------
def report(tally: Tally, per_operator: int) -> str:
    """The counts as Markdown."""
    total = sum(tally.pairs.values())
    lines = [
        "# Operator samples of torch with symbolic sizes", "",
        f"torch {torch.__version__}; {len(tally.operators)} entries of op_db, {total} samples (up to {per_operator} an"
        f" entry), {tally.unusable} that eager refuses left out.",
        "Written by `python benchmarks/op_db_symbolic.py --write`.", "",
        "| environment | equals eager | differs from eager | raises | seconds |", "|---|---|---|---|---|",
    ]
    for which in ENVIRONMENTS:
        counts = tally.outcomes[which]
        cells = (which, counts[PASSED], counts[WRONG], counts[RAISED], round(tally.seconds[which]))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", f"Passes with torch's ShapeEnv and not with ours: {len(tally.worse)}."]
    lines += [f"- {name}: {outcome.status}, {outcome.text}" for name, outcome in tally.worse]
    lines += ["", f"Passes with ours and not with torch's: {len(tally.better)}."]
    lines += [f"- {name}: {outcome.status}, {outcome.text}" for name, outcome in tally.better]
    lines += ["", f"Passes with shared symbols and not with a symbol for each size, from 1 on: {len(tally.free)}."]
    lines += [f"- {name}: {outcome.status}, {outcome.text}" for name, outcome in tally.free]
    lines += ["", "What raises in both environments, by the error in ours:"]
    lines += [f"- {name}: {count}" for name, count in tally.refusals.most_common()]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--ops", default="", help="names of op_db entries, separated by commas")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th entry, from the i-th")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("torch").setLevel(logging.CRITICAL)
    names = set(filter(None, options.ops.split(",")))
    first, step = map(int, options.part.split("/"))
    chosen = [op for op in op_db if not names or op.name in names][first::step]
    tally = compare(chosen, options.samples, lambda line: print(line, file=sys.stderr, flush=True))
    text = report(tally, options.samples)
    print(text)
    if options.write:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
