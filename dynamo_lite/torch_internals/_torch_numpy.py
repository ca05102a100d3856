"""The private torch API for arrays that are tensors, in one place. Checked with torch 2.13.0."""

from __future__ import annotations

import torch._numpy as arrays

__all__ = ["arrays"]
