"""The losses of 200 steps of training of a small GPT-2, of the exported program and of eager, in one picture.

    python benchmarks/loss_curve.py [--steps 200] [--write]

Eight batches of random tokens, again and again; AdamW with a warm-up, clipped gradients, dropout with equal seeds.
`--write` keeps the picture in docs/training_loss.svg. The program is exported from a fresh optimizer.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dynamo_lite import export  # noqa: E402

PICTURE = ROOT / "docs" / "training_loss.svg"
BATCHES, VOCABULARY, LENGTH, WARM_UP = 8, 100, 32, 20


def made() -> tuple[Callable[[Tensor], Tensor], Any]:
    """A step, and the scheduler of its optimizer, which is called between the steps."""
    import transformers

    torch.manual_seed(0)
    sizes = {"n_layer": 2, "n_head": 4, "n_embd": 64, "vocab_size": VOCABULARY, "n_positions": LENGTH}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(3e-3))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / WARM_UP))

    def step(ids: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = model(input_ids=ids, labels=ids).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step, scheduler


def tokens(number: int) -> Tensor:
    generator = torch.Generator().manual_seed(number % BATCHES)
    return torch.randint(0, VOCABULARY, (4, LENGTH), generator=generator)


def losses(run: Callable[[Tensor], Tensor], scheduler: Any, steps: int) -> list[float]:
    found = []
    for number in range(steps):
        torch.manual_seed(number)  # of the dropout
        found.append(float(run(tokens(number))))
        scheduler.step()
    return found


# -- the picture -------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP = 640, 300, 46, 16
COLOURS = {"eager": ("#f2a65a", 6), "program": ("#14508c", 1.6)}
"""Colour and width of each line; the program's lies within eager's where the losses are equal."""


def points(values: Sequence[float], high: float) -> str:
    across, down = (WIDTH - LEFT - 14) / (len(values) - 1), (HEIGHT - TOP - 40) / high
    return " ".join(
        f"{LEFT + i * across:.1f},{TOP + (high - value) * down:.1f}" for i, value in enumerate(values)
    )  # fmt: skip


def picture(curves: dict[str, Sequence[float]]) -> str:
    """An SVG of the curves: losses from 0 on, over steps."""
    high, steps = max(max(values) for values in curves.values()) * 1.05, len(curves["eager"])
    bottom, down = HEIGHT - 40, (HEIGHT - TOP - 40) / high
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12" fill="#57606a">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for loss in range(int(high) + 1):
        y = TOP + (high - loss) * down
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 14}" stroke="#d0d7de" stroke-width="0.7"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{loss}</text>')
    for step in range(0, steps + 1, 50):
        x = LEFT + step * (WIDTH - LEFT - 14) / (steps - 1)
        parts.append(f'<text x="{min(x, WIDTH - 20):.1f}" y="{bottom + 16}" text-anchor="middle">{step}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">step</text>')
    for number, (name, values) in enumerate(curves.items()):
        colour, width = COLOURS[name]
        line = f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"'
        parts.append(f'<polyline points="{points(values, high)}" {line}/>')
        y = TOP + 14 + 18 * number
        parts.append(f'<path d="M{WIDTH - 190} {y}h30" {line}/><text x="{WIDTH - 152}" y="{y + 4}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    step, scheduler = made()
    program = losses(export(step, (tokens(0),)).module(), scheduler, options.steps)
    eager = losses(*made(), options.steps)
    apart = max(abs(one - other) for one, other in zip(program, eager))
    print(f"{options.steps} steps: from {eager[0]:.3f} to {eager[-1]:.3f}, greatest difference {apart:.2g}")
    if options.write:
        PICTURE.write_text(picture({"eager": eager, "program": program}))


if __name__ == "__main__":
    main()
