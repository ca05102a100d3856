"""The private torch API that the program layer stands on, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

from torch._export.verifier import TrainingIRVerifier
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled
from torch.amp.autocast_mode import _enter_autocast, _exit_autocast
from torch.export._tree_utils import reorder_kwargs
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature

__all__ = [
    "ModuleCallEntry",
    "ModuleCallSignature",
    "TrainingIRVerifier",
    "_enter_autocast",
    "_exit_autocast",
    "reorder_kwargs",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]
