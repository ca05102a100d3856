"""Calls of the functions that libraries and users register with pytree, to take containers apart and to make them.

Eager does not call them. Export does: on the arguments, for the containers that the run is given, and on the result.
They are interpreted under a journal of their own: their changes are undone at once, their reads are not assumptions.
Operators that they run on fake tensors are recorded, since the results may be outputs of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.capture import Recorder
from dynamo_lite.errors import DynamoLiteError
from dynamo_lite.torch_internals._torch_dispatch import TorchDispatchMode
from dynamo_lite.tracing.calls.registry import outside_export, table
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.effects.classify import place_owned_dicts
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.node_metadata import TraceContext
from dynamo_lite.tracing.tracer import Tracer


class ContainerFunctions:
    """`calls(function, *arguments)`, a `Caller` (program/trees/paths.py).

    Without `during`, nothing is being recorded: the arguments are the user's own, and operators run on real data. With
    it, the call is made within that tracer's run. of_results: a query of the function whether this is an export is
    answered yes. For arguments it is answered no: each call of the program takes them apart as well, and both must
    agree.
    """

    def __init__(self, during: Tracer | None = None, of_results: bool = False) -> None:
        self._during = during
        self._of_results = of_results
        self._tracer: Tracer | None = None

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        tracer = self._tracer = self._tracer or self._make()
        tracer.journal = Journal(tracer.mark)
        if self._during is not None:
            return self._call(tracer, function, args)
        tracer.heap.begin()
        try:
            with _ReadOnly(tracer, name_of(function)):
                return self._call(tracer, function, args)
        finally:
            tracer.heap.end()

    def _make(self) -> Tracer:
        outer = self._during
        if outer is None:
            return Tracer(None, Recorder(None, ()), known_rules=outside_export(table()))
        rules = outer.rules if self._of_results else outside_export(outer.rules)
        tracer = Tracer(outer.root, outer.recorder, outer.inputs, rules)
        tracer.heap = outer.heap
        return tracer

    def _call(self, tracer: Tracer, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        recorder = tracer.recorder
        context, recorder.context = recorder.context, TraceContext(tracer)
        last = recorder.level.graph._root.prev
        try:
            result = tracer.vm.enter(function, args, {})
        except Abort as abort:
            raise abort.error from None
        except DynamoLiteError:
            raise
        except Exception as error:
            what = f"raises {type(error).__name__}: {error}"
            raise tracer.graph_break("container-function", name=name_of(function), what=what) from error
        finally:
            recorder.context = context
            while (last := last.next) is not recorder.level.graph._root:
                recorder.passing.append(last)
            tracer.journal.rollback(_made(tracer))
        if tracer.broken is not None:
            raise tracer.broken
        return result


def name_of(function: Any) -> str:
    """The registered function in words: its own name, and where it is from."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}.{name}".removeprefix(".")


def _made(tracer: Tracer) -> set[int]:
    """Return the ids of the touched objects that the call has made itself: they keep their contents."""
    owners = tracer.journal.owners()
    if not owners:
        return set()
    ids = {id(o) for o in owners}
    place_owned_dicts(tracer, tracer.heap.new_among, ids)
    known = [o for o in owners if id(o) not in tracer.journal.untracked]  # by the collector
    return tracer.heap.new_among(known) | (tracer.made_dicts & ids)


class _ReadOnly(TorchDispatchMode):
    """Refuses in-place changes of tensors that were there before: no journal has their data."""

    def __init__(self, tracer: Tracer, name: str) -> None:
        super().__init__()
        self._tracer = tracer
        self._name = name
        self._made: set[int] = set()
        self._kept: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for index, parameter in enumerate(func._schema.arguments):
            if parameter.alias_info is not None and parameter.alias_info.is_write:
                value = args[index] if index < len(args) else kwargs.get(parameter.name)
                for tensor in value if isinstance(value, (list, tuple)) else [value]:
                    if isinstance(tensor, torch.Tensor) and tensor.untyped_storage()._cdata not in self._made:
                        what = f"changes a tensor in place ({func})"
                        self._tracer.refuse("container-function", name=self._name, what=what)
        result = func(*args, **kwargs)
        if not any(result_of.alias_info is not None for result_of in func._schema.returns):
            for tensor in result if isinstance(result, (list, tuple)) else [result]:
                if isinstance(tensor, torch.Tensor):
                    self._made.add(tensor.untyped_storage()._cdata)
                    self._kept.append(tensor)
        return result
