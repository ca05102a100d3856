"""What a program was exported from, to export it again: the way to a converted program that a graph cannot tell.

`x.to(y.dtype)` and `x.to(torch.float32)` are one node, and a branch on a dtype leaves none. Which constants follow the
parameters is seen by tracing the converted model: the new program is the one for it, so nothing has to be guessed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import fx, nn
from torch.export import ExportedProgram

from dynamo_lite.errors import UnsupportedConversion
from dynamo_lite.program.trees.paths import flatten_with_path, unflatten

Convert = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Recipe:
    """The model, the example call, and how to export.

    code: the program's graphs then: one that somebody has changed since is not what an export would give.
    holds(mod, args, kwargs): false once a guard of the program fails. export: what made the program, called with
    (mod, args, kwargs, dynamic_shapes=...).
    """

    mod: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dynamic_shapes: Any
    code: str
    holds: Callable[..., bool]
    export: Callable[..., ExportedProgram]

    @property
    def root(self) -> nn.Module | None:
        """The module that `mod` is, or is a method of."""
        owner = self.mod if isinstance(self.mod, nn.Module) else getattr(self.mod, "__self__", None)
        return owner if isinstance(owner, nn.Module) else None

    @property
    def has_own_rule(self) -> bool:
        """Whether a part of the model says itself what is converted (keeps a parameter in float32, say)."""
        return self.root is not None and any(type(m)._apply is not nn.Module._apply for m in self.root.modules())

    def converted(self, fn: Convert, program: ExportedProgram, now: nn.Module) -> ExportedProgram:
        """The program of a copy of the model, with the tensors that `now` has, converted as eager does it.

        Raises UnsupportedConversion where the model has changed since, and for what cannot be copied or exported.
        """
        root = self.root
        if root is None:
            raise UnsupportedConversion("The program is that of a function: there is no model to convert.")
        if "\n".join(part.graph.python_code("self").src for part in _graphs(program)) != self.code:
            raise UnsupportedConversion("The graph of the program has been changed since it was exported.")
        if not self.holds(self.mod, self.args, self.kwargs):
            raise UnsupportedConversion("The model, or the example call, is not as it was when it was exported.")
        try:
            model = _copied(root, now)._apply(fn)
            mod = model if root is self.mod else MethodType(self.mod.__func__, model)  # type: ignore[attr-defined]
            args, kwargs = _converted_call(self.args, self.kwargs, fn)
            return self.export(mod, args, kwargs, dynamic_shapes=self._shapes())
        except Exception as error:
            raise UnsupportedConversion(f"A converted copy of the model could not be exported: {error}") from error

    def _shapes(self) -> Any:
        """dynamic_shapes without reference to the tensors of the example call."""
        asked = getattr(self.dynamic_shapes, "dynamic_shapes", None)
        return asked(self.mod, self.args, self.kwargs) if callable(asked) else self.dynamic_shapes

    def __deepcopy__(self, memo: Any) -> Recipe:
        return self


def _copied(root: nn.Module, now: nn.Module) -> nn.Module:
    """A copy of the model around the tensors of `now`; tensors that the program has not are copied."""
    memo: dict[int, Any] = {}
    for of, into in ((nn.Module.named_parameters, _parameter), (nn.Module.named_buffers, _buffer)):
        values = dict(of(now, remove_duplicate=False))
        for name, old in of(root, remove_duplicate=False):
            if name in values and id(old) not in memo:
                memo[id(old)] = into(values[name])
    return copy.deepcopy(root, memo)


def _parameter(value: torch.Tensor) -> nn.Parameter:
    return nn.Parameter(value.detach(), value.requires_grad)


def _buffer(value: torch.Tensor) -> torch.Tensor:
    return value.detach().requires_grad_(value.requires_grad)


def _converted_call(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], fn: Convert
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The example call with its tensors converted; a tensor that is there twice stays one."""
    made: dict[int, Any] = {}

    def converted(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and id(leaf) not in made:
            made[id(leaf)] = fn(leaf.detach()).requires_grad_(leaf.requires_grad)
        return made.get(id(leaf), leaf)

    leaves, spec = flatten_with_path((args, dict(kwargs)))
    found: tuple[tuple[Any, ...], dict[str, Any]] = unflatten([converted(leaf) for _, leaf in leaves], spec)
    return found


def code_of(program: ExportedProgram) -> str:
    """The text of the program's graphs, as it was generated when the program was made."""
    return "\n".join(part.code for part in _graphs(program))


def _graphs(program: ExportedProgram) -> list[fx.GraphModule]:
    return [part for part in program.graph_module.modules() if isinstance(part, fx.GraphModule)]
