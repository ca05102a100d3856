"""The module and arguments that a program was exported from, to export it again: for a converted program that a graph
does not determine, and for the program of the other mode.

`x.to(y.dtype)` and `x.to(torch.float32)` are one node, and a branch on a dtype, or on `training`, leaves none. Which
constants follow the parameters is seen by tracing the converted model: the new program is the one for it, so nothing
has to be guessed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import fx, nn
from torch.export import ExportedProgram

from dynamo_lite.errors import UnsupportedConversion
from dynamo_lite.program.trees.paths import flatten_with_path, unflatten
from dynamo_lite.torch_internals._torch_fx import row_of

Convert = Callable[[torch.Tensor], torch.Tensor]
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Recipe:
    """The model, the example call, and how to export.

    graphs: the program's graphs then: one that was changed since differs from the result of an export. holds(mod, args,
    kwargs): false once a guard of the program fails; with any_mode=True, those on `training` are not checked. export:
    made the program, called with (mod, args, kwargs, dynamic_shapes=...), in the grad mode and the other switches of
    that time. mode: that of all parts of the model then; None if they had several.
    """

    mod: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dynamic_shapes: Any
    graphs: Sequence[Rows]
    holds: Callable[..., bool]
    export: Callable[..., ExportedProgram]
    mode: bool | None = None

    @property
    def root(self) -> nn.Module | None:
        """The module that `mod` is, or is a method of."""
        owner = self.mod if isinstance(self.mod, nn.Module) else getattr(self.mod, "__self__", None)
        return owner if isinstance(owner, nn.Module) else None

    @property
    def has_own_rule(self) -> bool:
        """Whether a part of the model overrides conversion (for example to keep a parameter in float32)."""
        return self.root is not None and any(type(m)._apply is not nn.Module._apply for m in self.root.modules())

    @property
    def has_own_mode(self) -> bool:
        """Whether a part of the model overrides `train()` (for example to merge weights for evaluation)."""
        return self.root is not None and any(type(m).train is not nn.Module.train for m in self.root.modules())

    def converted(self, fn: Convert, program: ExportedProgram, now: nn.Module) -> ExportedProgram:
        """The program of a copy of the model, with the tensors that `now` has, converted as eager does it.

        Raises UnsupportedConversion where the model has changed since, and for what cannot be copied or exported.
        """
        return self._again(program, lambda root: _copied(root, now)._apply(fn), (fn,))

    def switched(
        self, mode: bool, program: ExportedProgram, now: nn.Module, conversions: Sequence[Convert]
    ) -> ExportedProgram:
        """The program of the model in a mode, with the very parameters and buffers of `now`, which has been through
        `conversions` since. Raises UnsupportedConversion, as `converted` does."""

        def change(root: nn.Module) -> nn.Module:
            shared = {id(tensor): tensor for tensor in program.constants.values() if isinstance(tensor, torch.Tensor)}
            return _copied(root, now, shared, _same, _same).train(mode)

        return self._again(program, change, conversions, any_mode=True)

    def _again(
        self,
        program: ExportedProgram,
        change: Callable[[nn.Module], nn.Module],
        conversions: Sequence[Convert],
        any_mode: bool = False,
    ) -> ExportedProgram:
        root = self.root
        if root is None:
            raise UnsupportedConversion("The program is that of a function: there is no model to export again.")
        if [*map(_shown, graphs_of(program))] != [*map(_shown, self.graphs)]:
            raise UnsupportedConversion("The graph of the program has been changed since it was exported.")
        if not self.holds(self.mod, self.args, self.kwargs, any_mode=any_mode):
            raise UnsupportedConversion("The model, or the example call, is not as it was when it was exported.")
        try:
            model = change(root)
            mod = model if root is self.mod else MethodType(self.mod.__func__, model)  # type: ignore[attr-defined]
            args, kwargs = self.args, dict(self.kwargs)
            for fn in conversions:
                args, kwargs = _converted_call(args, kwargs, fn)
            return self.export(mod, args, kwargs, dynamic_shapes=self._shapes())
        except Exception as error:
            raise UnsupportedConversion(f"A copy of the model could not be exported again: {error}") from error

    def _shapes(self) -> Any:
        """dynamic_shapes without reference to the tensors of the example call."""
        asked = getattr(self.dynamic_shapes, "dynamic_shapes", None)
        return asked(self.mod, self.args, self.kwargs) if callable(asked) else self.dynamic_shapes

    def __deepcopy__(self, memo: Any) -> Recipe:
        return self


Keep = Callable[[Any], Any]


def _copied(
    root: nn.Module,
    now: nn.Module,
    shared: Mapping[int, Any] | None = None,
    parameter: Keep | None = None,
    buffer: Keep | None = None,
) -> nn.Module:
    """A copy of the model around the tensors of `now`; tensors that the program lacks are copied, except `shared` (by
    id). parameter, buffer: converts a tensor of `now` for the copy; by default another over the same memory."""
    memo: dict[int, Any] = dict(shared or {})
    kinds = (
        (nn.Module.named_parameters, parameter or _parameter),
        (nn.Module.named_buffers, buffer or _buffer),
    )
    own: dict[int, Any] = {}
    taken: dict[int, torch.Tensor] = {}
    for of, into in kinds:
        values = dict(of(now, remove_duplicate=False))
        for name, old in of(root, remove_duplicate=False):
            if name not in values:
                continue
            if taken.setdefault(id(old), values[name]) is not values[name]:
                raise UnsupportedConversion(f"{name} was the same tensor as another at the export, and is not now.")
            if id(old) not in own:
                own[id(old)] = into(values[name])
    return copy.deepcopy(root, memo | own)


def _same(value: torch.Tensor) -> torch.Tensor:
    return value


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


def graphs_of(program: ExportedProgram) -> list[Rows]:
    """The nodes of the program's graphs: (kind, name, target, arguments, keyword arguments), which do not change."""
    return [
        [row_of(node) for node in part.graph.nodes]
        for part in program.graph_module.modules()
        if isinstance(part, fx.GraphModule)
    ]


def _shown(rows: Rows) -> list[str]:
    """To compare them, over copies of nodes, too: a node is shown by its name."""
    return [repr(row) for row in rows]
