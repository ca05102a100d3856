"""The Python state that a call of the eager module changes, and how the program's trace accounts for it.

Everything within reach of the module (attributes, containers, closures, globals of the modules that its classes and
functions are defined in) is compared before and after the call, as with strict=False. A change to an equal value is
ignored. State that is compared elsewhere (parameters, buffers, containers that were passed) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from dynamo_lite.guards.values import is_atom
from dynamo_lite.nonstrict.opaque_state import note_of
from dynamo_lite.nonstrict.reachability import Reachable
from dynamo_lite.program.effect_record import Verdict
from dynamo_lite.replay.equal import same
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.effects import classify as effects_of
from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.heap.iterator_types import is_c_iterator
from dynamo_lite.tracing.heap.journal import Change, Journal
from dynamo_lite.tracing.heap.object_paths import path_of
from dynamo_lite.tracing.vocabulary.module_stack import ModuleStack
from dynamo_lite.tracing.vocabulary.process_state import TorchState

_WIDTH = 80


@dataclass(frozen=True)
class StateChange:
    """`target` (as Python names it: `self.layers[0].count`) was `old` and became `new`, in words.

    `note` is the text of a note of the trace about it, where no record of an effect covers it.
    """

    target: str
    old: str
    new: str
    note: str | None = None

    def __str__(self) -> str:
        if self.old == self.new:
            return f"{self.target} is changed in place"
        return f"{self.target} changes from {self.old} to {self.new}"


class _Reach(Reachable):
    """Keeps the tensors as well, with copies of their data."""

    follows_globals = True

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.elsewhere: set[int] = set()  # the memory of tensors that are compared elsewhere
        self.tensors: list[tuple[torch.Tensor, torch.Tensor]] = []

    def _tensor(self, tensor: torch.Tensor) -> None:
        super()._tensor(tensor)
        memory = memory_of(tensor)
        if memory is not None and memory not in self.elsewhere:
            self.tensors.append((tensor, tensor.detach().clone()))

    def _all_globals(self, namespace: dict[str, Any]) -> None:
        known = id(namespace) in self._seen
        super()._all_globals(namespace)
        if not known and id(namespace) in self._seen:
            self._todo += [value for value in namespace.values() if isinstance(value, torch.Tensor)]


def memory_of(tensor: torch.Tensor) -> int | None:
    """Where a tensor's data is; None if it has none that can be looked at (fake, meta, sparse, lazy)."""
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (RuntimeError, NotImplementedError, ValueError):
        return None


class PythonState:
    """The state that one call of `mod` can change, from before it. The call comes next, then `changes`, then `undo`."""

    def __init__(self, mod: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.root = owner if isinstance(owner, nn.Module) else mod
        self.modules = ModuleStack(self.root)
        self._journal = Journal(lambda: ())
        self._reach = _Reach(self._journal)
        self._arguments, leaves = _containers((args, kwargs))
        known = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if isinstance(owner, nn.Module):
            known += [*owner.parameters(), *owner.buffers()]
        self._reach.elsewhere = {memory for tensor in known if (memory := memory_of(tensor)) is not None}
        for start in (mod, args, kwargs):
            self._reach.take(start)
        self._settings = TorchState()

    def changes(self) -> list[StateChange]:
        """Return the differences from before, each place once."""
        return [*dict.fromkeys(self._changes())]

    def _changes(self) -> Iterator[StateChange]:
        registries = descriptions.registries_of(self.root)
        for change in self._journal.changes():
            if id(change.owner) in self._arguments or effects_of.is_invisible_place(change):
                continue
            if same(change.old, change.new):
                continue
            if id(change.owner) in registries:
                if not _is_assignment(change):
                    path = registries[id(change.owner)][1]
                    yield self._change(change, f"self.{path}.{change.key}" if path else f"self.{change.key}")
            else:
                yield self._change(change, descriptions.describe_target(self, change))
        for tensor, before in self._reach.tensors:
            if not same(before, tensor.detach()):
                text = descriptions.describe(tensor)
                yield StateChange(path_of(tensor, self.root) or f"the data of {text}", text, text)
        for state in self._reach.hidden:
            if state.is_changed():
                name = path_of(state.owner, self.root) or f"a {type(state.owner).__name__}"
                words = ("where it was", "a later position") if is_c_iterator(type(state.owner)) else ("", "")
                yield StateChange(name, *words, note_of(state))
        for parameter, gradient in self._reach.gradients:
            if parameter.grad is not gradient:
                target = f"{path_of(parameter, self.root) or 'a parameter'}.grad"
                yield StateChange(target, _words(gradient), _words(parameter.grad), "the .grad of a parameter is set")
        for name, was, now in self._settings.changed():
            yield StateChange(name, str(was), str(now))

    def _change(self, change: Change, target: str) -> StateChange:
        return StateChange(target, _words(change.old), _words(change.new))

    def undo(self) -> None:
        """Restore everything: globals and objects that the copies share with the user's objects."""
        self._settings.restore()
        with torch.no_grad():
            for tensor, before in self._reach.tensors:
                if tensor.shape == before.shape and not same(before, tensor.detach()):
                    tensor.detach().copy_(before)
        for parameter, gradient in self._reach.gradients:
            parameter.grad = gradient
        for state in self._reach.hidden:
            if state.is_changed():
                state.restore()
        self._journal.rollback()


def _words(value: Any) -> str:
    """A value in a few words; a short list of plain values as it is."""
    if type(value) in (list, tuple) and all(map(is_atom, value)):
        text = repr(value)
        return text if len(text) <= _WIDTH else descriptions.describe(value)
    return descriptions.describe(value)


def _containers(arguments: Any) -> tuple[set[int], list[Any]]:
    """(the ids of the containers that were passed in, the leaves in them)."""
    found: set[int] = set()

    def seen(value: Any) -> bool:
        found.add(id(value))
        return False

    leaves = pytree.tree_leaves(arguments, is_leaf=seen)
    return found - {id(leaf) for leaf in leaves}, leaves


def _is_assignment(change: Change) -> bool:
    """Whether a registered tensor became another one: its value is compared by name."""
    return isinstance(change.old, torch.Tensor) and isinstance(change.new, torch.Tensor)


# ---- records of a change in the program's trace


def judge(program: ExportedProgram, number: int) -> Callable[[StateChange], str | None]:
    """Return a function for the changes of the call with that number (from 0): change → how the trace accounts for it.

    A program that was loaded or made by another exporter has no trace: changes by a first call may be intended.
    """
    trace = getattr(program, "trace", None)
    if trace is None:
        return lambda change: "by the first call; the program has no trace" if number == 0 else None
    verdicts = {effect.target: effect.verdict for effect in trace.effects}

    def account_of(change: StateChange) -> str | None:
        verdict = verdicts.get(change.target)
        if verdict is None or (verdict is Verdict.FIRST_CALL and number > 0):
            noted = change.note is not None and any(change.note in text for text in trace.notes)
            return "noted" if noted else None
        return verdict.value

    return account_of


def argument_names(program: ExportedProgram) -> list[str]:
    """The names of the top-level arguments, those passed by position first."""
    signature = program.module_call_graph[0].signature if program.module_call_graph else None
    return [*(getattr(signature, "forward_arg_names", None) or [])]


def accounted_arguments(program: ExportedProgram) -> set[str]:
    """Return the arguments whose containers eager changes and the program does not, according to its trace."""
    trace = getattr(program, "trace", None)
    if trace is None:
        return set()
    lost = {effect.target for effect in trace.effects if effect.kind == "argument"}
    names = argument_names(program)
    returned = {name for name in names if any(f"the argument {name} is changed and returned" in t for t in trace.notes)}
    return returned | {name for name in names if f"the argument {name}" in lost}
