"""No object of a trace stays behind in the user's: all that can be reached from a program is walked after an export."""

from __future__ import annotations

import collections
import functools
import gc
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.export import Dim
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

import dynamo_lite
from dynamo_lite.capture import Recorder
from dynamo_lite.interpreter import Interpreter
from dynamo_lite.interpreter.datamodel.trampoline_code import is_trampoline
from dynamo_lite.interpreter.frames.frame import Frame
from dynamo_lite.tracing.diagnostics import Abort
from dynamo_lite.tracing.strings.nondeterministic import Unrecordable
from dynamo_lite.tracing.tracer import Tracer

OF_A_TRACE = (
    *(FakeTensor, FakeTensorMode, torch.SymInt, torch.SymFloat, torch.SymBool, fx.Node, fx.Graph, fx.Proxy),
    *(ProxyTorchDispatchMode, Recorder, Interpreter, Frame, Tracer, Abort, Unrecordable),
)
COUNT, SEEN, MEMO = 0, [], {}  # type: ignore[var-annotated]
CONTEXT = ValueError("kept")


def reachable(*roots: Any) -> Iterator[Any]:
    """Everything that the garbage collector can reach from `roots`; not through modules, frames and torch's classes."""
    seen: set[int] = set()
    todo = list(roots)
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, (types.ModuleType, types.FrameType)):
            continue
        if isinstance(value, type) and not value.__module__.startswith("tests."):
            continue
        if isinstance(value, dict) and "__builtins__" in value:
            continue  # the globals of a module; the data among them are roots of their own
        seen.add(id(value))
        yield value
        todo.extend(gc.get_referents(value))


@functools.lru_cache
def cached(n: int) -> int:
    return n + 1


class Everything(nn.Module):
    """Keeps what it can get hold of, in every kind of place."""

    kept: Any = None

    def __init__(self, end: Callable[[Any, torch.Tensor], Any]) -> None:
        super().__init__()
        self.end = end
        self.register_buffer("mean", torch.zeros(3))
        self.linear = nn.Linear(3, 3)
        self.items: Any = []
        self.table: Any = {}
        self.queue: Any = collections.deque(maxlen=2)
        self.last: Any = None
        self.hook: Any = None

    def forward(self, x: torch.Tensor) -> Any:
        global COUNT
        COUNT = x.shape[0]
        SEEN.append(x)
        MEMO[x.shape[1]] = x.shape
        self.items.append(x * 2)
        self.table["n"] = x.shape[0]
        self.queue.append((x, x.shape))
        self.last = lambda: x
        type(self).kept = x
        self.linear.weight.__dict__.get("tag")
        cached(int(x.shape[1]))
        generator = (row for row in self.items)
        next(generator)
        self.table["generator"] = generator
        handle = self.linear.register_forward_hook(lambda m, i, o: o + x.sum())
        y = self.linear(x)
        handle.remove()
        try:
            raise CONTEXT
        except ValueError:
            self.mean = self.mean + y.detach().mean(0)
        return self.end(self, y)


def _fails(self: Any, y: torch.Tensor) -> Any:
    raise KeyError(y)


def _branches(self: Any, y: torch.Tensor) -> Any:
    return y if y.sum() > 0 else -y


ENDS: dict[str, tuple[Callable[[Any, torch.Tensor], Any], str]] = {
    "succeeds": (lambda self, y: y + 1, "drop"),
    "is refused for its effects": (lambda self, y: y + 1, "refuse"),
    "captures a branch": (_branches, "drop"),
    "is refused for a branch": (lambda self, y: y.double() if y.sum() > 0 else -y, "drop"),
    "raises": (_fails, "drop"),
    "reads data": (lambda self, y: y.numpy(), "drop"),
    "an operator fails": (lambda self, y: y @ y, "drop"),
    "keeps a graph": (lambda self, y: torch.cond(y.sum() > 0, lambda z: z + 1, lambda z: z - 1, (y,)), "drop"),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", ENDS)
def test_nothing_of_a_trace_is_left(name: str, dynamic: bool) -> None:
    end, effects = ENDS[name]
    module, x = Everything(end), torch.randn(4, 3)
    shapes = ({0: Dim("n")},) if dynamic else None
    outcome: Any
    try:
        outcome = dynamo_lite.export(module, (x,), dynamic_shapes=shapes, effects=effects)
    except Exception as error:
        outcome = error.with_traceback(None)
        error.__context__ = error.__cause__ = None
    succeeded = isinstance(outcome, torch.export.ExportedProgram)
    assert succeeded == (name in ("succeeds", "captures a branch", "keeps a graph")), outcome
    found = [value for value in reachable(module, x, SEEN, MEMO, cached, CONTEXT) if isinstance(value, OF_A_TRACE)]
    assert found == []
    assert (COUNT, SEEN, MEMO, module.items, module.table, len(module.queue)) == (0, [], {}, [], {}, 0)
    assert Everything.kept is None and CONTEXT.__traceback__ is None and CONTEXT.__context__ is None
    assert not any(is_trampoline(fn.__code__) for fn in reachable(module) if isinstance(fn, types.FunctionType))


def test_a_trace_object_would_be_found() -> None:
    module = Everything(_fails)
    with FakeTensorMode():
        module.items.append({"deep": [torch.zeros(3)]})
    assert any(isinstance(value, FakeTensor) for value in reachable(module))
