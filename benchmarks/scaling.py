"""How export time grows with depth, and how much memory an export needs.

    python benchmarks/scaling.py [--layers 12,24,48,96] [--runs 3] [--write]

Depth: the GPT of tests/models at several depths, with dynamo-lite and torch.export strict. Memory, each in a process of
its own: a module with 1 GB of weights (what export adds to the peak), and Llama at 70 billion parameters on the meta
device and under FakeTensorMode (the peak of the whole process). `--write` keeps the tables in
benchmarks/results/scaling.md.
"""

from __future__ import annotations

import argparse
import logging
import math
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import nn  # noqa: E402

from benchmarks.exporters import EXPORTERS, NON_STRICT, OURS, STRICT, machine, progress, timed  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "scaling.md"
MEGABYTE = 2**20


def peak() -> float:
    """The largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MEGABYTE


def _checked(exporter: str, module: nn.Module, args: tuple[object, ...], **kwargs: object) -> tuple[float, int]:
    """Seconds and the number of nodes; a refusal ends the benchmark with its reason."""
    timing = timed(exporter, module, (args, dict(kwargs)))
    if timing.program is None:
        raise SystemExit(f"{exporter} refused: {timing.refusal}")
    return timing.seconds, len(timing.program.graph.nodes)


def depth(layers: list[int], runs: int) -> str:
    """Export time at each depth, and the fitted exponent of time over depth (1 is linear)."""
    from tests.models.core_torch import gpt

    lines = ["| layers | nodes | ours, s | strict, s | non-strict, s | strict / ours | ours, ms per layer |"]
    lines.append("|---:|" + "---:|" * 6)
    ours_by_depth = []
    for count in layers:
        case, medians, nodes = gpt(count), {}, 0
        for exporter in EXPORTERS:
            repeats = runs if exporter == OURS else 1
            progress(f"{count} layers: {exporter}")
            warm_up = repeats > 1 or count == layers[0]
            times = []
            for _ in range(repeats + warm_up):
                seconds, nodes = _checked(exporter, case.module, case.inputs(0)[0])
                times.append(seconds)
            medians[exporter] = statistics.median(times[warm_up:])
        ours, strict = medians[OURS], medians[STRICT]
        ours_by_depth.append(ours)
        cells = [f"{count}", f"{nodes}", f"{ours:.3f}", f"{strict:.2f}", f"{medians[NON_STRICT]:.2f}"]
        lines.append(f"| {' | '.join([*cells, f'{strict / ours:.1f}×', f'{1000 * ours / count:.2f}'])} |")
    if len(layers) > 1:
        exponent = math.log(ours_by_depth[-1] / ours_by_depth[0]) / math.log(layers[-1] / layers[0])
        lines += ["", f"Our time grows as depth to the power {exponent:.2f} (1 is linear)."]
    return "\n".join(lines)


def one_gigabyte(exporter: str) -> str:
    """What exporting 1 GB of weights adds to the peak, after a small export has paid for imports and caches."""
    width, layers = 4096, 16
    small = nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers))).eval()
    _checked(exporter, small, (torch.zeros(2, 8),))
    module = nn.Sequential(*(nn.Linear(width, width) for _ in range(layers))).eval()
    weights = sum(p.numel() * p.element_size() for p in module.parameters()) / MEGABYTE
    before = peak()
    seconds, _ = _checked(exporter, module, (torch.zeros(2, width),))
    return f"{weights:.0f} MB of weights | {peak() - before:.0f} MB added | {seconds:.2f} s"


def _llama_70b() -> nn.Module:
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64,
        num_key_value_heads=8, max_position_embeddings=8192, tie_word_embeddings=False,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def _billions(module: nn.Module) -> str:
    return f"{sum(p.numel() for p in module.parameters()) / 1e9:.1f} billion parameters"


def llama_meta(exporter: str) -> str:
    """Llama 70B on the meta device."""
    with torch.device("meta"):
        module = _llama_70b()
        ids = torch.zeros(1, 16, dtype=torch.int64)
    seconds, nodes = _checked(exporter, module, (ids,), use_cache=False)
    return f"{_billions(module)}, {nodes} nodes | {peak():.0f} MB peak of the process | {seconds:.2f} s"


def decoder_meta(exporter: str) -> str:
    """A Llama of 32 layers on the meta device, of a width at which the weights would not matter: what export adds to
    the process after another export, at its peak."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=32, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=512, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.device("meta"):
        module = transformers.LlamaForCausalLM(config).eval()
        ids = torch.zeros(1, 16, dtype=torch.int64)
    small = nn.Sequential(nn.Linear(8, 8)).eval()
    _checked(exporter, small, (torch.zeros(2, 8),))
    before = peak()
    seconds, nodes = _checked(exporter, module, (ids,), use_cache=False)
    return f"{nodes} nodes | {peak() - before:.0f} MB added | {seconds:.2f} s"


def llama_fake(exporter: str) -> str:
    """Llama 70B made under FakeTensorMode."""
    from torch._subclasses.fake_tensor import FakeTensorMode  # private; torch 2.13.0 checked

    with FakeTensorMode():
        module = _llama_70b()
        ids = torch.zeros(1, 16, dtype=torch.int64)
    seconds, nodes = _checked(exporter, module, (ids,), use_cache=False)
    return f"{_billions(module)}, {nodes} nodes | {peak():.0f} MB peak of the process | {seconds:.2f} s"


DECODER = "32-layer decoder, meta device"
MEMORY: dict[str, Callable[[str], str]] = {
    "1 GB of weights": one_gigabyte,
    DECODER: decoder_meta,
    "Llama 70B, meta device": llama_meta,
    "Llama 70B, FakeTensorMode": llama_fake,
}


def memory() -> str:
    """Each of `MEMORY` in a process of its own."""
    lines = ["| what | size | memory | time |", "|---|---|---:|---:|"]
    for name in MEMORY:
        for exporter in EXPORTERS if name == DECODER else (OURS,):
            progress(f"memory: {name}")
            command = [sys.executable, "-W", "ignore", __file__, "--memory", name, "--exporter", exporter]
            done = subprocess.run(command, capture_output=True, text=True)
            outcome = done.stdout.splitlines()[-1:] if done.returncode == 0 else []
            failed = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            shown = name if exporter == OURS else f"{name}, {exporter}"
            lines.append(f"| {shown} | {outcome[0] if outcome else failed + ' | – | –'} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--layers", default="12,24,48,96", help="depths of the GPT, comma-separated")
    parser.add_argument("--runs", type=int, default=3, help="warm runs of ours at each depth (torch's run once)")
    parser.add_argument("--write", action="store_true", help=f"keep the tables in {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--memory", choices=list(MEMORY), help="run this one memory measurement, in this process")
    parser.add_argument("--exporter", choices=list(EXPORTERS), default=OURS, help="the exporter for --memory")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if options.memory:
        print(MEMORY[options.memory](options.exporter))
        return
    start = time.perf_counter()
    layers = [int(count) for count in options.layers.split(",")]
    sections = ["## Depth", "", depth(layers, options.runs), "", "## Memory", "", memory()]
    progress("")
    command = " ".join(["python benchmarks/scaling.py", *sys.argv[1:]])
    head = ["# Scaling", "", f"Command: `{command}` ({time.perf_counter() - start:.0f} s); {machine()}.", ""]
    text = "\n".join([*head, *sections, ""])
    print(text)
    if options.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
