"""What each mechanism buys: dynamo-lite with one of them taken out, as exporters of the laboratory.

    python -m dynamo_lite.lab run --exporter benchmarks.ablations:WithoutSecondTrace --out rows.jsonl
    python -m benchmarks.ablations hostile [--class layout ...]    # on hostile programs: a line of JSON for each
    python -m benchmarks.ablations sizes [--programs 100]          # on generated programs over sizes

An ablation replaces functions of dynamo-lite for the time of an export. `ABLATIONS` has them all;
`python -m benchmarks.study` runs them over the corpus.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from dynamo_lite.lab.exporters import DynamoLite

Replaced = tuple[str, str, Callable[..., Any]]
"""A module, the name of a function in it, and what stands there for the time of an export."""


class Ablation(DynamoLite):
    """dynamo-lite without a mechanism: `replaced` functions, or other `options` of export."""

    replaced: ClassVar[tuple[Replaced, ...]] = ()
    options: ClassVar[dict[str, Any]] = {}

    def export(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
    ) -> Callable[..., Any]:
        """The module of the program."""
        from dynamo_lite import export

        with _replaced(self.replaced):
            return export(module, args, kwargs, dynamic_shapes=dynamic_shapes, **self.options).module()


@contextmanager
def _replaced(functions: tuple[Replaced, ...]) -> Iterator[None]:
    found = [(importlib.import_module(module), name, function) for module, name, function in functions]
    before = [getattr(module, name) for module, name, _ in found]
    for module, name, function in found:
        setattr(module, name, function)
    try:
        yield
    finally:
        for (module, name, _), function in zip(found, before):
            setattr(module, name, function)


class WithoutSecondTrace(Ablation):
    """Changes of Python state count as settled: no trace from the state after the first one."""

    name = "without-second-trace"
    replaced = (("dynamo_lite.run.second_trace", "_covered", lambda first, prints: None),)


class WithoutLayoutGuards(Ablation):
    """A program that has read strides or contiguity of its inputs is called with any layout."""

    name = "without-layout-guards"
    replaced = (("dynamo_lite.run.run", "layout_guards", lambda *args: []),)


def _direct(known: Any, relation: Any, *, model: bool | None = None, models: Any = None) -> Any:
    """`decide` with its first rung only: known truths, bounds and residues."""
    from dynamo_lite.symbolic_shapes.prover.decide import UNKNOWN, Answer

    found = known.quick(relation)
    return Answer(found[0], "direct", relation, found[1]) if found else Answer(UNKNOWN, "none", relation)


class WithoutProver(Ablation):
    """Questions about sizes that bounds and residues do not decide are decided by the example, and become guards."""

    name = "without-prover"
    replaced = (("dynamo_lite.symbolic_shapes.environment", "decide", _direct),)


class WithoutCapture(Ablation):
    """Branches and loops on data are refused (`control_flow="refuse"`)."""

    name = "without-capture"
    options: ClassVar[dict[str, Any]] = {"control_flow": "refuse"}


class WithDroppedEffects(Ablation):
    """Changes of Python state that no program can carry are dropped with a note (`effects="drop"`), not refused."""

    name = "effects-dropped"
    options: ClassVar[dict[str, Any]] = {"effects": "drop"}


ABLATIONS = (WithoutSecondTrace, WithoutLayoutGuards, WithoutProver, WithoutCapture, WithDroppedEffects)


def on_hostile(classes: list[str]) -> Iterator[dict[str, Any]]:
    """Counts of verdicts on classes of hostile programs (benchmarks/hostile.py), of all where none is named."""
    from benchmarks import hostile
    from benchmarks.exporters import OURS

    found = {k: probes for k, (_, probes) in hostile.classes(0).items() if not classes or k in classes}
    for each in ABLATIONS:
        hostile.EXPORTERS[each.name] = _as_probed(each())
    for name in (OURS, *(each.name for each in ABLATIONS)):
        counts: Counter[str] = Counter()
        for probes in found.values():
            counts.update(hostile.judged(probes, name).counts)
        yield {"exporter": name, "classes": [*found], "counts": counts}


def on_sizes(programs: int) -> Iterator[dict[str, Any]]:
    """Counts of verdicts on generated programs over sizes (benchmarks/size_soundness.py), and the pairs of sizes that
    the equal ones admit, of those that eager takes: a row for each exporter and kind."""
    from benchmarks.size_soundness import KINDS

    for exporter in (DynamoLite(), WithoutProver()):
        for kind, verdict_of in KINDS.items():
            counts: Counter[str] = Counter()
            for seed in range(20000, 20000 + programs):
                verdict = verdict_of(seed, partial(_with_sizes, exporter))
                counts[verdict.kind] += 1
                if verdict.kind == "equal":
                    counts.update(admitted=verdict.admitted, possible=verdict.possible)
            yield {"exporter": exporter.name, "kind": kind, "counts": counts}


def _with_sizes(exporter: DynamoLite, module: Any, args: tuple[Any, ...], dynamic_shapes: Any) -> Callable[..., Any]:
    return exporter.export(module, args, {}, dynamic_shapes)


def _as_probed(made: Ablation) -> Callable[..., Any]:
    """As hostile programs are exported by dynamo-lite itself: the judge asks for its notes and the state set once."""
    from tests.export.verdict import ours

    def export(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> Callable[..., Any]:
        with _replaced(made.replaced):
            return ours(program, args, kwargs, **options, **made.options)

    return export


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("hostile", "sizes"))
    parser.add_argument("--class", dest="classes", nargs="*", help="files of tests/hostile/programs; all without names")
    parser.add_argument("--programs", type=int, default=100, help="generated programs over sizes of each kind")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    rows = on_hostile(options.classes or []) if options.what == "hostile" else on_sizes(options.programs)
    for row in rows:
        print(json.dumps({options.what: row}), flush=True)


if __name__ == "__main__":
    main()
