"""A recorder that continues if an operator cannot be recorded, for a search that discards its graph (explain).

An operator without a kernel for tensors without data is run on the example's tensors, and its result has their sizes.
An older constant that is changed in place is changed as if it were the program's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dynamo_lite.capture import CaptureError, Recorder
from dynamo_lite.capture.graph.lifting import modes_off
from dynamo_lite.capture.kernels.missing_data import missing_data
from dynamo_lite.explanation.example_evaluator import NoShadow
from dynamo_lite.torch_internals._torch_pytree import pytree
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

_RUN_ON_DATA = frozenset({"no-meta-kernel", "data-dependent-shape"})
_RAN = "the operator was run on the example, and the sizes of its result are those that it had there"
_CHANGED = "the program goes on with a changed copy of its own"


class LenientRecorder(Recorder):
    """`found(error, then)` is called for skipped errors, `shadow` has the example's values: the tracer sets both."""

    report: Callable[[CaptureError, str], None]
    shadow: Any

    def _check_mutation(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        try:
            super()._check_mutation(func, args, kwargs)
        except CaptureError as error:
            self.report(error, _CHANGED)

    def _run(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return super()._run(func, args, kwargs)
        except Exception as error:
            graph_break = missing_data(func, error)
            if graph_break is None or graph_break.id not in _RUN_ON_DATA or func._schema.is_mutable:
                raise
            was, self.running = self.running, True
            try:
                real = self._on_the_example(func, args, kwargs)
                out = pytree.tree_map_only(torch.Tensor, lambda t: self._like(t, (args, kwargs)), real)
            except NoShadow:
                raise error from None
            finally:
                self.running = was
            self.report(graph_break, _RAN)
            return out

    def _on_the_example(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the result of the operator on the example. Raises NoShadow."""
        found = pytree.tree_map(self._real, (tuple(args), kwargs))
        try:
            with modes_off(), torch.no_grad():
                real_args, real_kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, found)
                return func(*real_args, **real_kwargs)
        except Exception as error:
            raise NoShadow(str(error)) from error

    def _real(self, value: Any) -> Any:
        if is_fake(value):
            return self.shadow.tensor(value)
        if type(value) in SYMBOLIC:
            return self._hint(value)
        return value

    def _hint(self, size: Any) -> Any:
        hint = size.node.hint if size.node.has_hint() else None
        if hint is None:
            raise NoShadow("a size that only run time knows")
        return hint

    def _like(self, real: torch.Tensor, inputs: Any) -> torch.Tensor:
        """Return a fake tensor of the same form. A size equal to a varying one of an input is taken to be that one."""
        if real.layout is not torch.strided:
            raise NoShadow("a sparse tensor")
        varying: dict[int, Any] = {}
        for leaf in pytree.tree_leaves(inputs):
            if isinstance(leaf, torch.Tensor):
                for size in leaf.shape:
                    if type(size) in SYMBOLIC:
                        varying.setdefault(self._hint(size), size)
        if varying:
            return torch.empty([varying.get(size, size) for size in real.shape], dtype=real.dtype, device=real.device)
        return torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device=real.device)
