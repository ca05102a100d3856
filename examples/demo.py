"""Export a tiny Whisper from `transformers`, look at the program, save it, load it, and hold it against eager.

    make demo

The weights are random and nothing is downloaded.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.simplefilter("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402  private; torch 2.13.0 checked

import dynamo_lite  # noqa: E402

Program = torch.export.ExportedProgram
console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def tiny_whisper() -> torch.nn.Module:
    """Speech recognition in miniature: two encoder and two decoder layers, 32 wide."""
    config = transformers.WhisperConfig(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=30,
        max_target_positions=24, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
    )  # fmt: skip
    torch.manual_seed(0)
    return transformers.WhisperForConditionalGeneration(config).eval()


def inputs(seed: int) -> dict[str, Any]:
    """Two utterances of 60 mel frames, seven tokens of text each."""
    generator = torch.Generator().manual_seed(seed)
    return {
        "input_features": torch.randn(2, 16, 60, generator=generator),
        "decoder_input_ids": torch.randint(0, 99, (2, 7), generator=generator),
    }


def summary(program: Program) -> Table:
    """Where the nodes come from (the model's submodules, two levels deep) and which operators they call."""
    by_module: dict[str, Counter[str]] = {}
    for node in program.graph.nodes:
        if node.op == "call_function":
            stack = list(node.meta.get("nn_module_stack", {}).values())
            path = ".".join(stack[-1][0].split(".")[:4]) if stack else ""
            by_module.setdefault(path or "(top)", Counter())[getattr(node.target, "__name__", str(node.target))] += 1
    table = Table(title="The program", title_justify="left")
    table.add_column("module")
    table.add_column("nodes", justify="right")
    table.add_column("operators, most frequent first")
    for path, operators in by_module.items():
        words = ", ".join(f"{name.partition('.')[0]} {count}" for name, count in operators.most_common(6))
        table.add_row(path, str(operators.total()), words + (", …" if len(operators) > 6 else ""))
    return table


def interface(program: Program) -> str:
    """The signature in a sentence."""
    signature, nodes = program.graph_signature, list(program.graph.nodes)
    kinds = {
        "parameters": len(signature.parameters),
        "buffers": len(signature.buffers),
        "lifted constants": len(signature.lifted_tensor_constants),
        "user inputs": len(signature.user_inputs),
        "user outputs": len(signature.user_outputs),
    }
    return f"{len(nodes)} nodes; " + ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def differences(got: Any, want: Any) -> tuple[int, float]:
    """The number of output tensors, and the largest difference between two of them.

    The outputs' caches are known to the pytree registry by now: export registered them on the way.
    """
    pairs = list(zip(pytree.tree_leaves(got), pytree.tree_leaves(want), strict=True))
    tensors = [(a, b) for a, b in pairs if isinstance(a, Tensor)]
    if not tensors or any(a.shape != b.shape or a.dtype != b.dtype for a, b in tensors):
        raise SystemExit("the program's outputs do not have eager's shapes")
    return len(tensors), max((a - b).abs().max().item() for a, b in tensors)


def timed(exporter: Callable[[torch.nn.Module], Program]) -> tuple[float, float]:
    """Milliseconds of the first export of a module that never ran, and of the best of three after it."""
    module, times = tiny_whisper(), []
    for _ in range(4):
        start = time.perf_counter()
        exporter(module)
        times.append(1000 * (time.perf_counter() - start))
    return times[0], min(times[1:])


def compare_times() -> Table:
    """The same export by three exporters. torch.export refuses to return Whisper's cache, so here it is left out."""
    kwargs = {**inputs(0), "use_cache": False}
    exporters: dict[str, Callable[[torch.nn.Module], Program]] = {
        "dynamo_lite.export": lambda module: dynamo_lite.export(module, (), kwargs),
        "torch.export, strict": lambda module: torch.export.export(module, (), kwargs, strict=True),
        "torch.export, non-strict": lambda module: torch.export.export(module, (), kwargs, strict=False),
    }
    table = Table(title="Export time (without the cache, which torch.export refuses)", title_justify="left")
    for heading in ("exporter", "first call, ms", "then, ms", "times ours"):
        table.add_column(heading, justify="left" if heading == "exporter" else "right")
    ours = 0.0
    for name, exporter in exporters.items():
        with contextlib.redirect_stderr(io.StringIO()):  # strict prints its own progress
            first, then = timed(exporter)
        ours = ours or then
        table.add_row(name, f"{first:.0f}", f"{then:.0f}", f"{then / ours:.1f}×")
    return table


def torch_export_says() -> str:
    """What torch.export(strict=True) makes of the call that we export: "exports it too", or why not."""
    try:
        torch.export.export(tiny_whisper(), (), inputs(0), strict=True)
    except Exception as error:  # whatever it raises is what we came to show
        return f"refuses it: {' '.join(str(error).split())[:110]}"
    return "exports it too"


def main() -> None:
    logging.disable(logging.WARNING)
    module = tiny_whisper()
    eager = tiny_whisper()
    torch_says = torch_export_says()  # first: our export makes the cache's type known to torch's registry too
    start = time.perf_counter()
    program = dynamo_lite.export(module, (), inputs(0))
    milliseconds = 1000 * (time.perf_counter() - start)
    console.print(f"[bold]Exported tiny Whisper[/bold], its key-value cache an output, in {milliseconds:.0f} ms")
    console.print(f"torch.export(strict=True) {torch_says}", markup=False)
    console.print(interface(program))
    console.print(summary(program))
    console.print(compare_times())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "whisper.pt2")
        torch.export.save(program, path)
        loaded = torch.export.load(path)
        console.print(f"Saved and loaded whisper.pt2, {path.stat().st_size / 1024:.0f} KiB")
    for name, candidate in (("the program", program.module()), ("the loaded program", loaded.module())):
        for seed in (0, 1):
            with torch.no_grad():
                count, worst = differences(candidate(**inputs(seed)), eager(**inputs(seed)))
            which = "the example" if seed == 0 else "fresh inputs"
            console.print(f"{name} against eager on {which}: {count} tensors, largest difference {worst:.1e}")
            if worst > 1e-5:
                raise SystemExit("that is not equal")
    console.print("[bold green]All equal.[/bold green]")


if __name__ == "__main__":
    main()
