"""print, warnings and logging

They talk to the outside and give nothing back, so they are skipped during the trace, with a note. They are not in the
program.
"""

from __future__ import annotations

import logging
import warnings

import torch
from torch import Tensor, nn

TAGS = ("effects", "python", "logging")


log = logging.getLogger(__name__)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        log.debug("shape %s", x.shape)
        if x.dim() == 1:
            warnings.warn("one dimension only", stacklevel=2)
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
