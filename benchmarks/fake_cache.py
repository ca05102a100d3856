"""A transformer's forward on fake tensors with symbolic batch and length: torch's ShapeEnv, ours, ours with its cache.

    python benchmarks/fake_cache.py [--layers 4] [--runs 15] [--write]

Cold is the first forward in a new environment; warm the median of further ones, the environments taking turns so that a
busy machine slows all alike. `--write` keeps the table in benchmarks/results/fake_cache.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch._dispatch.python import enable_python_dispatcher  # noqa: E402
from torch._dynamo.source import ConstantSource  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext  # noqa: E402

from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode  # noqa: E402
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv  # noqa: E402
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, create_symbolic_tensor  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "fake_cache.md"
BATCH, LENGTH, WIDTH, HEADS = 5, 7, 64, 4


def model(layers: int) -> torch.nn.Module:
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()


def _torch_mode() -> FakeTensorMode:
    return FakeTensorMode(shape_env=ShapeEnv(), export=True)


def _torch_input(mode: FakeTensorMode, real: torch.Tensor) -> torch.Tensor:
    context: Any = StatelessSymbolicContext([DimDynamic.DYNAMIC, DimDynamic.DYNAMIC, DimDynamic.STATIC])
    return mode.from_tensor(real, source=ConstantSource("x"), symbolic_context=context)


def _our_input(mode: FakeTensorMode, real: torch.Tensor) -> torch.Tensor:
    return create_symbolic_tensor(mode, real, [Fresh(), Fresh(), None])


def _static_input(mode: FakeTensorMode, real: torch.Tensor) -> torch.Tensor:
    return mode.from_tensor(real, static_shapes=True)


CASES: dict[str, tuple[Callable[[], FakeTensorMode], Callable[[FakeTensorMode, torch.Tensor], torch.Tensor]]] = {
    "static sizes, torch's cache": (_torch_mode, _static_input),
    "torch's ShapeEnv": (_torch_mode, _torch_input),
    "ours, no cache": (lambda: fake_mode(TorchShapeEnv(), cache=False), _our_input),
    "ours, symbolic cache": (lambda: fake_mode(TorchShapeEnv()), _our_input),
}


def measure(layers: int, runs: int) -> dict[str, tuple[float, float]]:
    """Case -> (cold, warm) in milliseconds."""
    module = model(layers)
    forwards: dict[str, Callable[[], Any]] = {}
    for name, (make_mode, make_input) in CASES.items():
        mode = make_mode()
        x = make_input(mode, torch.zeros(BATCH, LENGTH, WIDTH))
        weights = {key: mode.from_tensor(w.detach(), static_shapes=True) for key, w in module.state_dict().items()}
        forwards[name] = partial(_forward, mode, module, weights, x)
    times: dict[str, list[float]] = {name: [_timed(forward)] for name, forward in forwards.items()}
    for _ in range(runs):
        for name, forward in forwards.items():
            times[name].append(_timed(forward))
    return {name: (series[0], statistics.median(series[1:])) for name, series in times.items()}


def _forward(mode: FakeTensorMode, module: torch.nn.Module, weights: dict[str, Any], x: torch.Tensor) -> Any:
    with mode, enable_python_dispatcher(), torch.no_grad():
        return torch.func.functional_call(module, weights, (x,))


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def table(results: dict[str, tuple[float, float]], layers: int) -> str:
    lines = [f"# Forward of a {layers}-layer transformer on fake tensors, ms", "",
             f"torch {torch.__version__}. Written by `python benchmarks/fake_cache.py --write`; read the ratios.", "",
             "| | cold | warm | warm, torch's ShapeEnv = 1 |", "|---|---|---|---|"]
    base = results["torch's ShapeEnv"][1]
    lines += [f"| {name} | {cold:.0f} | {warm:.1f} | {warm / base:.3f} |" for name, (cold, warm) in results.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.backends.mha.set_fastpath_enabled(False)
    text = table(measure(options.layers, options.runs), options.layers)
    print(text)
    if options.write:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
