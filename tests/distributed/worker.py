"""What each rank of the tests does: export and save every program, or load and run them. Results go to a file."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.utils import _pytree as pytree

from tests.distributed import programs

Work = Callable[[int, Path, str], Any]


def run(folder: Path, *works: tuple[Work, list[str]]) -> list[dict[str, list[Any]]]:
    """Runs each function for each of its names, on each rank, in fresh processes.

    Returns, for each function, name → the ranks' results in order; a traceback where one failed.
    """
    with tempfile.TemporaryDirectory() as meeting:
        processes.spawn(_rank, (Path(meeting), folder, works), nprocs=programs.RANKS)
        ranks = [torch.load(Path(meeting) / f"{rank}.pt") for rank in range(programs.RANKS)]
    return [{name: [rank[i][name] for rank in ranks] for name in names} for i, (_, names) in enumerate(works)]


def _rank(rank: int, meeting: Path, folder: Path, works: tuple[tuple[Work, list[str]], ...]) -> None:
    torch.set_num_threads(1)
    place = (meeting / "store").as_uri()
    patience = timedelta(seconds=60)  # a rank whose partner has failed must not wait for it
    dist.init_process_group("gloo", init_method=place, rank=rank, world_size=programs.RANKS, timeout=patience)
    results = [{name: _guarded(work, rank, folder, name) for name in names} for work, names in works]
    torch.save(results, meeting / f"{rank}.pt")
    dist.destroy_process_group()


def _guarded(work: Work, rank: int, folder: Path, name: str) -> Any:
    try:
        return work(rank, folder, name)
    except Exception:
        return traceback.format_exc()
    finally:
        dist.barrier()


def export(rank: int, folder: Path, name: str) -> dict[str, Any]:
    import dynamo_lite

    shapes = {"x": {0: torch.export.Dim.AUTO}} if name in programs.DYNAMIC else None
    program = dynamo_lite.export(programs.make(name), programs.inputs(name, rank), dynamic_shapes=shapes)
    torch.export.save(program, folder / f"{name}_{rank}.pt2")
    results = _compared(rank, program.module(), name)
    results["operators"] = _operators(program)
    results["notes"] = [str(note) for note in program.notes]
    results["originals"] = dist.distributed_c10d.ProcessGroup.allreduce.__module__
    return results


def torch_export(rank: int, folder: Path, name: str) -> dict[str, Any]:
    program = torch.export.export(programs.make(name), programs.inputs(name, rank), strict=True)
    return {"operators": _operators(program)}


def load(rank: int, folder: Path, name: str) -> dict[str, Any]:
    return _compared(rank, torch.export.load(folder / f"{name}_{rank}.pt2").module(), name)


def refused(rank: int, folder: Path, name: str) -> str:
    import dynamo_lite

    try:
        dynamo_lite.export(programs.Layer(programs.REFUSED[name]), programs.inputs(name, rank))
    except dynamo_lite.errors.DynamoLiteError as error:
        return str(error.id)
    return "exported"


def _operators(program: torch.export.ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def _compared(rank: int, module: torch.nn.Module, name: str) -> dict[str, Any]:
    """Two calls each, so that buffers count: what the program gives, and what eager gives."""
    eager, given, wanted = programs.make(name), [], []
    for seed in range(2):
        wanted += pytree.tree_leaves(eager(*programs.inputs(name, rank, seed)))
        given += pytree.tree_leaves(module(*programs.inputs(name, rank, seed)))
    given += module.buffers()
    wanted += eager.buffers()
    return {"given": [t.detach().clone() for t in given], "wanted": [t.detach().clone() for t in wanted]}
