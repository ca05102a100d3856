"""Our own export time at another commit: the first and a later export of each core model, one process, ours alone.

    git worktree add /some/folder COMMIT && cd /some/folder && PYTHONPATH=$PWD python /path/to/own_time.py

Prints JSON: model → [seconds of the first export, the faster of two more, nodes]. It uses nothing but `export` and the
list of models, which all commits have. The tables of benchmarks/results/layout.md take the smaller of two rounds.
"""

from __future__ import annotations

import gc
import json
import logging
import time
import warnings

import torch

from dynamo_lite import export
from tests.models.registry import CORE, load


def main() -> None:
    """A toy first, so that the process has made its tables; then the models one after another."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    export(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()), (torch.randn(2, 3),))
    rows: dict[str, list[float]] = {}
    for name, model in load(CORE).items():
        case = model.case()
        args, kwargs = case.inputs(0)
        seconds = []
        for _ in range(3):
            gc.collect()
            start = time.perf_counter()
            program = export(case.module, args, kwargs)
            seconds.append(time.perf_counter() - start)
        rows[name] = [seconds[0], min(seconds[1:]), len(program.graph.nodes)]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
