"""torch's operator samples under FakeTensorMode with symbolic sizes: our shape environment, torch's, and eager.

    python benchmarks/op_db_symbolic.py [--samples 3] [--ops add,view] [--variant plain,strided] [--db op_db,refs]
        [--part 0/8] [--save tally.json]
    python benchmarks/op_db_symbolic.py --merge tally*.json --write

For each sample every tensor input gets symbols for its sizes, the operator runs on fake tensors, and the results'
dtypes, sizes and strides, with the example's values put in for the symbols, are compared with eager's. Sizes that
only run time knows match anything. Equal sizes share a symbol, 0 and 1 stay numbers: torch's own default, in both
environments; and, in ours, once more with a symbol of its own for every size from 1 on. The variants (other strides,
gradients, decompositions, unbacked sizes, ...) are in benchmarks/op_db_variants.py.
`--samples 0` takes all samples, hours on one core: in parts, with `--save`. `--write` keeps the counts in
benchmarks/results/op_db_symbolic.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
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

import sympy  # noqa: E402
import torch  # noqa: E402
import torch.utils._pytree as pytree  # noqa: E402
from torch._dispatch.python import enable_python_dispatcher  # noqa: E402
from torch.testing._internal import common_methods_invocations as databases  # noqa: E402

from benchmarks.op_db_variants import (  # noqa: E402
    FREE,
    OURS,
    STATIC,
    TORCH,
    VARIANTS,
    NoSymbols,
    Sample,
    Variant,
)
from benchmarks.time_limit import TimeIsUp, time_limit  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "op_db_symbolic.md"
DATABASES: dict[str, list[Any]] = {
    "op_db": databases.op_db,
    "refs": databases.python_ref_db,
    "foreach": [info for kind in ("unary", "binary", "pointwise", "reduce", "other")
                for info in getattr(databases, f"foreach_{kind}_op_db")],
}
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
UNKNOWN = "only run time knows"
SECONDS = 60
"""For one sample in one environment."""
PLAIN = VARIANTS["plain"]
PASSED, WRONG, RAISED = "passed", "wrong", "raised"


@dataclass
class Outcome:
    """What one environment made of one sample: PASSED, WRONG or RAISED, and the difference or the error."""

    status: str
    text: str = ""


LISTS = ("worse", "better", "free", "wrong", "meta")


@dataclass
class Tally:
    """Counts of one variant on one database. `outcomes`: environment -> status -> number.

    `per_operator`: how many samples of each entry were taken at most, `unusable`: how many eager refused.
    The lists (sample, remark): `worse` and `better` than torch's environment, `free`: not with a symbol for each size,
    `wrong`: not eager's result, `meta`: nor is it in torch's environment or on fake tensors with plain sizes.
    """

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    worse: list[tuple[str, str]] = field(default_factory=list)
    better: list[tuple[str, str]] = field(default_factory=list)
    free: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[tuple[str, str]] = field(default_factory=list)
    meta: list[tuple[str, str]] = field(default_factory=list)
    unusable: int = 0
    per_operator: int | None = None
    refusals: Counter[str] = field(default_factory=Counter)
    operators: set[str] = field(default_factory=set)

    def add(self, sample: str, found: dict[str, Outcome]) -> str:
        """Count one sample's outcome by environment; what there is to say of it, if anything."""
        self.operators.add(sample.split("#")[0])
        for which in self.outcomes:
            self.outcomes[which][found[which].status] += 1
        ours, theirs = found[OURS], found[TORCH]
        own = ours.status == WRONG and WRONG not in (theirs.status, found[STATIC].status)
        if ours.status == WRONG:
            (self.wrong if own else self.meta).append((sample, ours.text))
        if ours.status == RAISED:
            self.refusals[ours.text.split(":")[0]] += theirs.status != PASSED
        if theirs.status == PASSED != ours.status:
            self.worse.append((sample, f"{ours.status}, {ours.text}"))
            return f"{sample}: {ours.status}: {ours.text}"
        if ours.status == PASSED != theirs.status:
            self.better.append((sample, f"{theirs.status}, {theirs.text}"))
        free = found.get(FREE, ours)
        if ours.status == PASSED != free.status:
            self.free.append((sample, f"{free.status}, {free.text}"))
            return f"{sample} with its own symbols: {free.status}: {free.text}"
        return f"{sample}: wrong: {ours.text}" if own else ""

    def merge(self, other: Tally) -> None:
        """Add another part's counts."""
        for which, counts in other.outcomes.items():
            self.outcomes.setdefault(which, Counter()).update(counts)
        for which, spent in other.seconds.items():
            self.seconds[which] = self.seconds.get(which, 0.0) + spent
        self.refusals.update(other.refusals)
        self.operators |= other.operators
        self.unusable += other.unusable
        self.per_operator = other.per_operator
        for name in LISTS:
            getattr(self, name).extend(getattr(other, name))

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "operators": sorted(self.operators)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Tally:
        lists = {name: [tuple(x) for x in data[name]] for name in LISTS}
        return Tally(**{**data, **lists, "operators": set(data["operators"]), "refusals": Counter(data["refusals"]),
                        "outcomes": {which: Counter(counts) for which, counts in data["outcomes"].items()}})


def samples(operators: list[Any], per_operator: int | None, requires_grad: bool = False) -> Iterator[Sample]:
    """The first samples (None: all) of each operator that have a tensor with a size that can be a symbol."""
    for info in operators:
        dtype = next((d for d in DTYPES if d in info.supported_dtypes("cpu")), None)
        differentiable = info.supports_autograd and dtype is not None and (dtype.is_floating_point or dtype.is_complex)
        if dtype is None or (requires_grad and not differentiable):
            continue
        torch.manual_seed(0)
        try:
            found = info.sample_inputs("cpu", dtype, requires_grad=requires_grad)
            found = list(itertools.islice(filter(_dynamic, found), per_operator))
        except RuntimeError as error:  # an optional library that is not there
            logging.getLogger(__name__).info("no samples of %s: %s", info.name, error)
            continue
        variant = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        for number, sample in enumerate(found):
            yield _sample(f"{variant}#{number}", info, sample)


def _dynamic(sample: Any) -> bool:
    leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
    plain = all(t.layout is torch.strided and not t.is_quantized and not t.is_nested for t in tensors)
    return plain and any(size > 1 for t in tensors for size in t.shape)


def _sample(name: str, info: Any, sample: Any) -> Sample:
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    tensors = list({id(x): x for x in leaves if isinstance(x, torch.Tensor)}.values())
    places = {id(x): i for i, x in enumerate(tensors)}

    def operator(inputs: list[Any]) -> Any:
        filled = [inputs[places[id(x)]] if isinstance(x, torch.Tensor) else x for x in leaves]
        value, args, kwargs = pytree.tree_unflatten(filled, spec)
        return info.op(value, *args, **kwargs)

    return Sample(name, tensors, operator)


# -- running ---------------------------------------------------------------------------------------------------
def eager(sample: Sample, variant: Variant) -> list[Any]:
    """What the operator gives for real tensors."""
    result = variant.perform(sample, list(map(variant.real, sample.tensors)))
    return [describe(leaf, {}) for leaf in pytree.tree_leaves(result)]


def run(sample: Sample, which: str, expected: list[Any], variant: Variant = PLAIN) -> Outcome:
    """One sample in one environment, against what eager gave; twice in ours: the second run finds the cache filled."""
    mode = variant.mode(which)
    convert = variant.to_fake(which, mode)
    for _ in range(1 if which in (TORCH, STATIC) else 2):
        try:
            # with it, as in a trace: composite kernels in C++ would ask for plain sizes
            with time_limit(SECONDS), mode, enable_python_dispatcher():
                result = variant.perform(sample, list(map(convert, sample.tensors)))
            example = variant.example(mode)
            given = [describe(leaf, example) for leaf in pytree.tree_leaves(result)]
        except NoSymbols:
            raise
        except (Exception, TimeIsUp) as error:  # whatever the operator raises is the outcome
            return Outcome(RAISED, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300])
        if len(given) != len(expected) or not all(map(same, given, expected)):
            wrong = [f"{g} instead of {e}" for g, e in itertools.zip_longest(given, expected)
                     if g is None or e is None or not same(g, e)]
            return Outcome(WRONG, "; ".join(wrong)[:300])
    return Outcome(PASSED)


def describe(leaf: Any, example: dict[Any, int]) -> Any:
    """(dtype, sizes, strides) of a tensor, the value of a number; `example`: values of unbacked symbols."""
    if isinstance(leaf, torch.Tensor):
        sizes = tuple(hint(size, example) for size in leaf.shape)
        if leaf.layout is not torch.strided:
            return leaf.dtype, sizes, None
        return leaf.dtype, sizes, tuple(hint(stride, example) for stride in leaf.stride())
    return hint(leaf, example)


def hint(value: Any, example: dict[Any, int]) -> Any:
    """The number that a size is in the example, or UNKNOWN."""
    if not isinstance(value, SYMBOLIC):
        return value
    known = value.node.hint
    if known is None:
        form = sympy.sympify(value.node.expr.xreplace(example))
        known = int(form) if form.is_Integer else None
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


def compare(operators: list[Any], per_operator: int | None, progress: Callable[[str], None] = lambda _: None,
            stop: Callable[[], bool] = lambda: False, variant: Variant = PLAIN) -> Tally:
    """The environments on all samples, taking turns; no further sample once `stop()`."""
    tally = Tally(outcomes={which: Counter() for which in variant.environments}, per_operator=per_operator)
    for sample in samples(operators, per_operator, variant.requires_grad):
        if stop():
            break
        torch.manual_seed(0)
        try:
            expected = eager(sample, variant)
        except Exception as error:  # a sample that eager refuses compares nothing
            progress(f"{sample.name}: eager raises {type(error).__name__}")
            tally.unusable += 1
            continue
        found: dict[str, Outcome] = {}
        for which in variant.environments:
            start = time.perf_counter()
            found[which] = run(sample, which, expected, variant)
            tally.seconds[which] = tally.seconds.get(which, 0.0) + time.perf_counter() - start
        if found[OURS].status == WRONG:
            found[STATIC] = run(sample, STATIC, expected, variant)
        remark = tally.add(sample.name, found)
        if remark:
            progress(remark)
    return tally


# -- the report ------------------------------------------------------------------------------------------------------
def report(tallies: dict[tuple[str, str], Tally]) -> str:
    """The counts, by (variant, database), as Markdown."""
    lines = [
        "# Operator samples of torch with symbolic sizes", "",
        f"torch {torch.__version__}. Samples that have a size to vary; those that eager refuses are left out. Equal:"
        " dtypes, sizes and strides, with the example's values put in.",
        "Written by `python benchmarks/op_db_symbolic.py --write`.", "",
        "| samples of | variant | entries | samples of each | environment | equals eager | differs from eager | raises"
        " | seconds |", "|---|---|---|---|---|---|---|---|---|",
    ]
    for (variant, database), tally in tallies.items():
        for which, counts in tally.outcomes.items():
            each = f"up to {tally.per_operator}" if tally.per_operator else "all"
            cells = (database, VARIANTS[variant].title, len(tally.operators), each, which, counts[PASSED],
                     counts[WRONG], counts[RAISED], round(tally.seconds.get(which, 0.0)))
            lines.append(f"| {' | '.join(map(str, cells))} |")
    for (variant, database), tally in tallies.items():
        lines += ["", f"## {database}, {VARIANTS[variant].title}", "", *_details(tally)]
    return "\n".join(lines) + "\n"


def _details(tally: Tally) -> list[str]:
    lines = []
    for heading, named in (("Passes with torch's ShapeEnv and not with ours", tally.worse),
                           ("Differs from eager in ours only", tally.wrong),
                           ("Differs from eager with torch's ShapeEnv or without symbols too", tally.meta),
                           ("Passes with ours and not with torch's", tally.better),
                           ("Passes with shared symbols and not with a symbol for each size, from 1 on", tally.free)):
        lines.append(f"{heading}: {len(named)}.")
        entries = Counter(name.split("#")[0] for name, _ in named)
        firsts = {name.split("#")[0]: text for name, text in reversed(named)}
        lines += [f"- {entry} ({count}), the first: {firsts[entry]}" for entry, count in entries.items()]
        lines.append("")
    if tally.refusals:
        lines.append("What raises in both environments, by the error in ours:")
        lines += [f"- {name}: {count}" for name, count in tally.refusals.most_common() if count]
    return lines


def _measure(options: argparse.Namespace) -> dict[tuple[str, str], Tally]:
    names = set(filter(None, options.ops.split(",")))
    first, step = map(int, options.part.split("/"))
    tallies = {}
    for database in options.db.split(","):
        chosen = [op for op in DATABASES[database] if not names or op.name in names][first::step]
        for variant in options.variant.split(","):
            tallies[variant, database] = compare(
                chosen, options.samples or None, lambda line: print(line, file=sys.stderr, flush=True),
                variant=VARIANTS[variant])
    return tallies


def _merged(paths: list[str]) -> dict[tuple[str, str], Tally]:
    tallies: dict[tuple[str, str], Tally] = {}
    for path in paths:
        for variant, database, data in json.loads(Path(path).read_text()):
            tallies.setdefault((variant, database), Tally()).merge(Tally.from_json(data))
    order = list(VARIANTS), list(DATABASES)
    return dict(sorted(tallies.items(), key=lambda item: tuple(o.index(k) for o, k in zip(order, item[0]))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=3, help="of each entry; 0: all")
    parser.add_argument("--ops", default="", help="names of entries, separated by commas")
    parser.add_argument("--variant", default="plain", help=f"of {', '.join(VARIANTS)}")
    parser.add_argument("--db", default="op_db", help=f"of {', '.join(DATABASES)}")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th entry, from the i-th")
    parser.add_argument("--save", help="keep the counts of this part in a file")
    parser.add_argument("--merge", nargs="+", help="report on such files instead of measuring")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("torch").setLevel(logging.CRITICAL)
    tallies = _merged(options.merge) if options.merge else _measure(options)
    if options.save:
        data = [(variant, database, tally.as_json()) for (variant, database), tally in tallies.items()]
        Path(options.save).write_text(json.dumps(data))
    text = report(tallies)
    print(text)
    if options.write:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
