"""The two sides of a replay: a copy of the module and a copy of the program, called with the same arguments."""

from __future__ import annotations

import copy
import random
import sys
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from dynamo_lite.replay.inputs import Arguments
from dynamo_lite.replay.python_state import PythonState
from dynamo_lite.replay.seen import Seen, observe


class ModulePair:
    """Fresh copies for one set of arguments. Objects shared by the arguments and the module stay shared."""

    def __init__(self, program: ExportedProgram, mod: Any, arguments: Arguments) -> None:
        self._mod, self._eager_arguments = copy.deepcopy((mod, arguments))
        self._exported = own_state(program)
        self._arguments = arguments
        self._states: list[PythonState] = []

    def call(self, seed: int) -> tuple[Seen, Seen]:
        """One call of each side: (eager, the program)."""
        owner = self._mod if isinstance(self._mod, nn.Module) else getattr(self._mod, "__self__", None)
        args, kwargs = _again(self._eager_arguments, owner)
        state = PythonState(self._mod, owner, args, kwargs)
        self._states.append(state)
        _seed(seed)
        eager = observe(self._mod, owner, args, kwargs)
        eager.python = state.changes()
        args, kwargs = copy.deepcopy(self._arguments)
        _seed(seed)
        return eager, observe(self._exported, self._exported, args, kwargs)

    def undo(self) -> None:
        """Undo the changes of the eager calls outside of the copies: globals, classes, variables of closures."""
        while self._states:
            self._states.pop().undo()


def own_state(program: ExportedProgram) -> nn.Module:
    """Return the program as a module with copies of its parameters, buffers and constants; shared tensors stay shared.

    (The module cannot be copied as a whole: its input check holds tensors of symbolic sizes.)
    """
    module = program.module()
    memo: dict[int, Any] = {}
    for part in module.modules():
        registries: tuple[dict[str, Any], ...] = (part._parameters, part._buffers, part.__dict__)
        for registry in registries:
            for name, value in registry.items():
                if isinstance(value, torch.Tensor):
                    registry[name] = copy.deepcopy(value.detach() if not value.is_leaf else value, memo)
    return module


def _again(arguments: Arguments, owner: Any) -> Arguments:
    """A copy of the arguments for one call; the tensors that belong to the module stay the module's."""
    memo: dict[int, Any] = {}
    if isinstance(owner, nn.Module):
        memo = {id(tensor): tensor for tensor in (*owner.parameters(), *owner.buffers())}
    copied: Arguments = copy.deepcopy(arguments, memo)
    return copied


def _seed(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
