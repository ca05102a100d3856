"""A program of one call as it ran: eager runs on copies of the example, and its operators are recorded below autograd.

So there is a program whatever `export` refuses, as long as eager runs. It holds for the example alone: wherever the
call read data (`if x.sum() > 0`, `n.item()`), the program goes on with that answer, which `Taken` names, with the line
and the variables there.
"""

from __future__ import annotations

import copy
import inspect
import operator
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx, nn
from torch.overrides import TorchFunctionMode

from dynamo_lite.errors import UserFrame
from dynamo_lite.logging.values import short
from dynamo_lite.pipeline import process_as_before, signature_of
from dynamo_lite.source_lines import line_at
from dynamo_lite.torch_internals._torch_dispatch import TorchDispatchMode
from dynamo_lite.torch_internals._torch_pytree import pytree

_READS = frozenset(
    {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.is_nonzero.default, torch.ops.aten.equal.default}
)
"""Operators that give Python a number of a tensor."""
_IN_PYTHON = {torch.Tensor.tolist: "tolist()", torch.Tensor.numpy: "numpy()", torch.Tensor.__array__: "numpy"}
"""Functions that read data without an operator."""
_LONGEST = 200
_SEED = 0


@dataclass(frozen=True)
class Taken:
    """An answer that the example gave to a question about data. locals: the variables there, as text."""

    filename: str
    lineno: int
    line: str
    answer: str
    locals: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        names = ", ".join(f"{name} = {text}" for name, text in self.locals.items())
        place = f'File "{self.filename}", line {self.lineno}, `{self.line}`'
        return f"{place}: {self.answer}" + (f"  with {names}" if names else "")


class NotRecorded(Exception):
    """There is no such program: the arguments or the module cannot be copied, or the results are not tensors."""


@dataclass
class Ran:
    """A call that was recorded: a module without control flow that does on the example what the call did, the answers
    that it took, and its results. Parameters and buffers have the names that they had, and the values from before."""

    module: nn.Module
    taken: list[Taken]
    out: Any

    def check(self, program: Any, args: Any, kwargs: Any) -> None:
        """Raises NotRecorded if a program of `module` gives other results: something has changed a tensor unseen."""
        args, kwargs = copy.deepcopy((tuple(args), dict(kwargs or {})))
        with process_as_before():
            torch.manual_seed(_SEED)
            got = copy.deepcopy(program.module())(*args, **kwargs)  # it may change its state
        pairs = zip(pytree.tree_leaves(got), pytree.tree_leaves(self.out))
        if not all(_are_equal(one, other) for one, other in pairs):
            raise NotRecorded("the operators of the call do not give its results: it changes tensors otherwise as well")


def as_it_ran(mod: Any, args: Any, kwargs: Any) -> Ran:
    """Call `mod` once, on copies, and record it. Raises NotRecorded, and what cannot be recorded raises."""
    try:
        mine, (args, kwargs) = copy.deepcopy(mod), copy.deepcopy((tuple(args), dict(kwargs or {})))
    except Exception as error:
        raise NotRecorded(f"no copy can be made of the module or its arguments ({error})") from error
    recording = _Recording(mine, args, kwargs)
    with process_as_before():
        torch.manual_seed(_SEED)
        with recording, _Reads(recording):
            out = mine(*args, **kwargs)
        return Ran(recording.module(out, signature_of(mod)), recording.taken, out)


def _are_equal(got: Any, want: Any) -> bool:
    if not (isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor)):
        return not isinstance(got, torch.Tensor) and not isinstance(want, torch.Tensor)
    same = got.shape == want.shape and got.dtype == want.dtype
    return same and torch.allclose(got.detach(), want.detach(), rtol=1e-4, atol=1e-5, equal_nan=True)


class _Recording(TorchDispatchMode):
    """Records each operator, with the tensors by identity. Tensors from elsewhere become buffers of the program."""

    def __init__(self, mine: Any, args: Any, kwargs: Any) -> None:
        super().__init__()
        self.taken: list[Taken] = []
        self._graph = fx.Graph()
        self._nodes: dict[int, fx.Node] = {}
        self._keep: list[Any] = []
        self._state: dict[str, torch.Tensor] = {}
        self._names: dict[int, str] = {}
        if isinstance(mine, nn.Module):
            state = (*mine.named_parameters(remove_duplicate=False), *mine.named_buffers(remove_duplicate=False))
            for name, tensor in state:
                self._names.setdefault(id(tensor), name)
                self._keep.append(tensor)
        self._before = {id(t): t.detach().clone() for t in self._keep}
        for at, leaf in enumerate(pytree.tree_leaves((args, kwargs))):
            if isinstance(leaf, torch.Tensor):
                self._bind(leaf, self._graph.placeholder(f"input_{at}"))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = pytree.tree_map(self._of, (tuple(args), dict(kwargs or {})))
        out = func(*args, **(kwargs or {}))
        if func in _READS:
            self.took(f"{out} in the example")
            return out
        node = self._graph.call_function(func, *given)
        if isinstance(out, torch.Tensor):
            self._bind(out, node)
        elif isinstance(out, (tuple, list)):
            for at, part in enumerate(out):
                if isinstance(part, torch.Tensor):
                    self._bind(part, self._graph.call_function(operator.getitem, (node, at)))
        return out

    def took(self, answer: str) -> None:
        """Note that the program goes on with an answer of the example, once for each line and answer."""
        frame: Any = sys._getframe(1)
        while frame is not None and _is_library(frame):
            frame = frame.f_back
        if frame is None:
            return
        at = frame.f_code.co_filename, frame.f_lineno
        variables = {name: short(value) for name, value in frame.f_locals.items() if not name.startswith("__")}
        found = Taken(*at, line_at(*at).strip()[:_LONGEST], answer, variables)
        if all((one.filename, one.lineno, one.answer) != (*at, answer) for one in self.taken):
            self.taken.append(found)

    def module(self, out: Any, signature: inspect.Signature) -> nn.Module:
        """Return the module of what was recorded, whose results are in the place of `out`."""
        leaves, spec = pytree.tree_flatten(out)
        is_tensor = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        self._graph.output(tuple([self._of(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]))
        constants = [None if of_tensor else leaf for leaf, of_tensor in zip(leaves, is_tensor)]
        made = fx.GraphModule(self._state, self._graph)
        kind: Any = type(made)
        run = kind.forward

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
            results = iter(run(self, *tensors))
            return pytree.tree_unflatten([next(results) if t else c for t, c in zip(is_tensor, constants)], spec)

        forward.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *signature.parameters.values()]
        )
        kind.forward = forward
        return made

    def _bind(self, tensor: torch.Tensor, node: fx.Node) -> None:
        self._nodes[id(tensor)] = node
        self._keep.append(tensor)

    def _of(self, value: Any) -> Any:
        """Return the node of a tensor, or the value itself."""
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self._nodes:
            name = self._names.get(id(value)) or f"lifted_tensor_{len(self._state)}"
            self._state[name] = self._as_it_was(value)
            first = next((node for node in self._graph.nodes if node.op == "call_function"), None)
            with self._graph.inserting_before(first) if first is not None else nullcontext():
                self._bind(value, self._graph.get_attr(name))
        return self._nodes[id(value)]

    def _as_it_was(self, tensor: torch.Tensor) -> torch.Tensor:
        before = self._before.get(id(tensor))
        value = tensor.detach().clone() if before is None else before
        return nn.Parameter(value, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else value


class _Reads(TorchFunctionMode):
    """Sees what reads data without an operator."""

    def __init__(self, recording: _Recording) -> None:
        super().__init__()
        self._recording = recording

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = _IN_PYTHON.get(func)
        if name is not None:
            self._recording.took(f"{name} gives the data of the example")
        return func(*args, **(kwargs or {}))


def _is_library(frame: Any) -> bool:
    at = UserFrame(frame.f_code.co_filename, 1, frame.f_code.co_name)
    return at.is_library or at.is_installed or at.filename == __file__
