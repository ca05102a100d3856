"""Questions about the function modes that are at work"""

from __future__ import annotations

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode, _get_current_function_mode_stack

from tests.export.probe import equal, t


class Doubles(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        is_inner = func is torch.sin and torch._C._is_torch_function_mode_enabled()
        return result * (3 if is_inner else 2) if func is torch.sin else result


@equal
def none():
    def forward(x):
        return x + torch._C._is_torch_function_mode_enabled() + (_get_current_function_mode() is None)

    return forward, (t(3),)


@equal
def own():
    def forward(x):
        with Doubles():
            asked, y = torch._C._is_torch_function_mode_enabled(), torch.sin(x)
        return y + asked, torch._C._len_torch_function_stack()

    return forward, (t(3),)


@equal
def how_many():
    def forward(x):
        with Doubles(), Doubles():
            return x + torch._C._len_torch_function_stack() + len(_get_current_function_mode_stack())

    return forward, (t(3),)


@equal
def switched_off():
    def forward(x):
        with Doubles():
            with torch._C.DisableTorchFunction():
                off = torch._C._is_torch_function_mode_enabled()
            return x + 2 * off + torch._C._is_torch_function_mode_enabled()

    return forward, (t(3),)
