"""Memory of a recording that stands for memory elsewhere: a write to it would not be one to the other."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Unwritable(NamedTuple):
    """The refusal of a write, with its words. `tensors` are kept alive: memory is known by a key of the living."""

    id: str
    what: str
    instead: str
    details: dict[str, str]
    tensors: list[torch.Tensor]
