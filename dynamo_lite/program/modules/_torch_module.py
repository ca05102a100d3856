"""The private torch API that `program.module()` uses.

In a file of its own, which is imported when a program's module is first requested: torch.export._unlift imports
TorchDynamo, which takes 0.8 s. Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

from torch.export._unlift import _StatefulGraphModule as StatefulGraphModule

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "module() of every program"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch.export._unlift:_StatefulGraphModule", "the class of ExportedProgram.module(), which ours extends"),
)

__all__ = ["StatefulGraphModule"]
