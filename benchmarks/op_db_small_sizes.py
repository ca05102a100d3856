"""torch's operator samples exported with dynamic sizes, and called at sizes of 0, 1, 2 and 3.

    python -m benchmarks.op_db_small_sizes [--samples 2] [--ops add,view] [--part 0/4] [--write]

Each sample of op_db is a program of one call, exported with every dimension of its tensors under Dim.AUTO. It is then
called with other sizes: each size of the sample becomes 0, 1, 2 or 3, wherever it stands, alone and all together. Where
eager takes such a call, the program gives the same values, sizes, dtypes and strides, and shares memory as eager does,
or it rejects the call. Operators that draw random numbers, and results of uninitialised memory, are left out.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from torch import nn
from torch.export import Dim
from torch.testing._internal import common_methods_invocations as databases
from torch.utils import _pytree as pytree

import dynamo_lite
from benchmarks.export_time import RESULTS, machine, progress
from benchmarks.exporters import first_line
from benchmarks.time_limit import TimeIsUp, time_limit

SIZES = (0, 1, 2, 3)
SECONDS = 20
LEFT_OUT = frozenset({
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_",
    "bernoulli", "multinomial", "normal", "rand_like", "randn", "randn_like", "randint", "randint_like", "cauchy",
    "exponential", "geometric", "log_normal", "uniform", "svd_lowrank", "pca_lowrank", "feature_alpha_dropout",
    "multi_head_attention_forward", "ctc_loss", "embedding_bag", "_segment_reduce",
    "_scaled_dot_product_flash_attention_for_cpu",
})  # fmt: skip
"""Random numbers, memory that holds anything, numbers of rows or classes that eager takes unchecked, and a kernel whose
division by a size of zero ends the process."""


class Call(nn.Module):
    """One call of an operator. `parts`: its arguments, of which those at `places` are the program's inputs."""

    def __init__(self, op: Any, parts: list[Any], spec: Any, places: list[int]) -> None:
        super().__init__()
        self.op, self.parts, self.tree, self.places = op, parts, spec, places

    def forward(self, *tensors: torch.Tensor) -> Any:
        parts = list(self.parts)
        for place, tensor in zip(self.places, tensors):
            parts[place] = tensor
        args, kwargs = pytree.tree_unflatten(parts, self.tree)
        return self.op(*args, **kwargs)


@dataclass
class Tally:
    """counts: equal, rejected, wrong, unlike (strides or shared memory), by call; refused: by sample. rejected: by
    operator, without a size of 0."""

    counts: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    rows: list[tuple[str, str]] = field(default_factory=list)

    def add(self, sample: str, verdict: str) -> None:
        self.counts[verdict.partition(":")[0]] += 1
        if verdict == "rejected" and ": 0" in sample:
            self.counts["rejected with a size of 0"] += 1
        elif verdict == "rejected":
            self.rejected[sample.partition("#")[0]] += 1
        if verdict not in ("equal", "rejected"):
            self.rows.append((sample, verdict))


def resized(tensor: torch.Tensor, sizes: dict[int, int], seed: int) -> torch.Tensor:
    """A tensor like it, each size of which is what `sizes` says."""
    shape = [sizes.get(size, size) for size in tensor.shape]
    generator = torch.Generator().manual_seed(seed)
    if tensor.dtype is torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if not (tensor.is_floating_point() or tensor.is_complex()):
        low, high = (int(tensor.min()), int(tensor.max())) if tensor.numel() else (0, 1)
        return torch.randint(max(low, 0), max(high, 0) + 1, shape, generator=generator).to(tensor.dtype)
    made = torch.rand(shape, generator=generator) * 0.8 + 0.1
    return made.to(tensor.dtype)


def other_sizes(tensors: list[torch.Tensor]) -> Iterator[dict[int, int]]:
    """What each size of the sample becomes: one of them, and all of them. (0 and 1 are constants under Dim.AUTO.)"""
    found = sorted({size for tensor in tensors for size in tensor.shape if size > 1})
    for size in found:
        yield from ({size: small} for small in SIZES if small != size)
    if len(found) > 1:
        yield from (dict.fromkeys(found, small) for small in SIZES)


def judge(name: str, op: Any, sample: Any, tally: Tally) -> None:
    """Export one sample, and call the program at other sizes."""
    parts, spec = pytree.tree_flatten(((sample.input, *sample.args), dict(sample.kwargs)))
    places = [i for i, part in enumerate(parts) if isinstance(part, torch.Tensor)]
    tensors = [parts[place] for place in places]
    if not tensors or any(t.layout is not torch.strided for t in tensors) or not any(t.dim() for t in tensors):
        return
    module = Call(op, parts, spec, places)
    try:
        again = [module(*(t.clone() for t in tensors)) for _ in range(2)]
    except Exception:
        return
    if _differs(again[0], again[1]):
        tally.counts["random"] += 1
        return
    shapes = {"tensors": tuple(dict.fromkeys(range(t.dim()), Dim.AUTO) for t in tensors)}
    try:
        program = dynamo_lite.export(module, tuple(tensors), dynamic_shapes=shapes).module()
    except dynamo_lite.InternalError as error:
        tally.add(name, f"bug: {first_line(error)}")
        return
    except Exception:
        tally.counts["refused"] += 1
        return
    for sizes in other_sizes(tensors):
        verdict = compare(program, module, [resized(t, sizes, seed) for seed, t in enumerate(tensors)])
        if verdict:
            tally.add(f"{name} {sizes}", verdict)


def compare(program: Any, module: Call, tensors: list[torch.Tensor]) -> str:
    """equal, rejected, "wrong: ..." or "unlike: ..."; nothing where eager raises."""
    mine, theirs = ([t.clone() for t in tensors] for _ in range(2))
    try:
        want = module(*theirs)
    except Exception:
        return ""
    try:
        got = program(*mine)
    except Exception:
        return "rejected"
    if found := _differs(got, want) or _differs(mine, theirs):
        return f"wrong: {found}"
    return _unlike(got, mine, want, theirs) or "equal"


def _differs(got: Any, want: Any) -> str:
    left, right = pytree.tree_leaves(got), pytree.tree_leaves(want)
    if len(left) != len(right):
        return f"{len(left)} results, not {len(right)}"
    for one, other in zip(left, right):
        if not isinstance(other, torch.Tensor):
            if one != other and other == other:
                return f"{one}, not {other}"
            continue
        try:
            torch.testing.assert_close(one, other, equal_nan=True, check_stride=False)
        except AssertionError as error:
            return str(error).partition("\n\n")[0].replace("\n", " ")[:160]
    return ""


def _unlike(got: Any, mine: Any, want: Any, theirs: Any) -> str:
    """Strides of tensors with elements, and which results and arguments share memory."""
    left, right = ([t for t in pytree.tree_leaves(made) if isinstance(t, torch.Tensor)] for made in (got, want))
    for one, other in zip(left, right):
        strides = [[s for s, n in zip(t.stride(), t.shape) if n > 1] for t in (one, other)]
        if other.numel() and strides[0] != strides[1]:
            return f"unlike: strides {one.stride()}, not {other.stride()} of {tuple(other.shape)}"
    owners = ((left, mine), (right, theirs))
    keys = [[t.untyped_storage().data_ptr() for t in (*made, *given)] for made, given in owners]
    if not all(t.numel() for t in right):
        return ""
    shared = [[[a == b for b in row] for a in row] for row in keys]
    return "" if shared[0] == shared[1] else "unlike: other results and arguments share memory"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2, help="of each operator; 0: all")
    parser.add_argument("--ops", help="comma-separated names")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--write", action="store_true", help="keep the table in benchmarks/results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    part, parts = map(int, options.part.split("/"))
    infos = [info for info in databases.op_db if not options.ops or info.name in options.ops.split(",")]
    infos = [info for info in infos[part::parts] if info.name.rpartition(".")[2] not in LEFT_OUT]
    tally = Tally()
    for number, info in enumerate(infos, 1):
        progress(f"{number} of {len(infos)}: {info.name}")
        try:
            with time_limit(SECONDS * max(options.samples, 1)):
                for index, sample in enumerate(info.sample_inputs("cpu", torch.float32)):
                    if options.samples and index >= options.samples:
                        break
                    judge(f"{info.name}{info.variant_test_name and '.' + info.variant_test_name}#{index}", info.op,
                          sample, tally)  # fmt: skip
        except TimeIsUp:
            tally.counts["time"] += 1
        except Exception as error:
            tally.counts["no samples"] += 1
            print(info.name, first_line(error), file=sys.stderr)
    progress("")
    text = "\n".join([
        "# Operators called at sizes of 0, 1, 2 and 3", "",
        f"Command: `python -m benchmarks.op_db_small_sizes {' '.join(sys.argv[1:])}`; {date.today()}; {machine()}.",
        f"{len(infos)} operators.", "", "| verdict | count |", "|---|---:|",
        *(f"| {verdict} | {count} |" for verdict, count in tally.counts.most_common()), "",
        "| sample and sizes | what |", "|---|---|",
        *(f"| {sample} | {text.replace('|', '/')} |" for sample, text in tally.rows), "",
        "Calls without a size of 0 that eager takes and the program rejects, by operator: "
        + ", ".join(f"{name} {count}" for name, count in tally.rejected.most_common()) + ".", "",
    ])  # fmt: skip
    print(text)
    if options.write:
        (RESULTS / "op_db_small_sizes.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
