"""torch's symbolic numbers, and the type of Python that corresponds to each."""

from __future__ import annotations

import torch

PYTHON_TYPE: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
SYMBOLIC_TYPES = (torch.SymInt, torch.SymFloat, torch.SymBool)
