"""strict=False against strict (the same program), eager (the same values), and CPython (the heap is as before)."""

from __future__ import annotations

import copy
import functools
import os
import random
import sys
import time
import warnings
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite import errors
from dynamo_lite.nonstrict.reachability import Reachable
from dynamo_lite.tracing.heap.journal import Journal
from tests.models.registry import CORE, load
from tests.nonstrict.programs import SAME, Wrap, x

UNSOUND = "unsound here because "


def unsound(program: Any) -> list[str]:
    return [text.removeprefix(UNSOUND) for text in program.notes if text.startswith(UNSOUND)]


def code(program: Any) -> str:
    """The whole program, sub-graphs included."""
    return "\n".join(m.code for m in program.graph_module.modules() if hasattr(m, "code"))


def assert_same(left: Any, right: Any) -> None:
    torch.testing.assert_close(left, right, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", SAME)
def test_both_modes_give_the_same_program(name: str) -> None:
    module, args, dynamic = SAME[name]()
    eager = copy.deepcopy(module)
    strict = dynamo_lite.export(module, args, dynamic_shapes=dynamic)
    before = dict(vars(module))
    free = dynamo_lite.export(module, args, dynamic_shapes=dynamic, strict=False)
    assert vars(module) == before
    assert code(free) == code(strict)
    assert str(free.graph_signature) == str(strict.graph_signature)
    assert free._guards_code == strict._guards_code
    assert str(free.range_constraints) == str(strict.range_constraints)
    assert unsound(free) == []
    assert_same(free.module()(*args), eager(*args))


MODELS = ("lstm", "nn_transformer", "convnet_train", "whisper", "llama_cache_in", "t5", "gpt2")
MORE_MODELS = ("bert", "detr", "mixtral")


@pytest.mark.parametrize("name", [*MODELS, *(pytest.param(name, marks=pytest.mark.long) for name in MORE_MODELS)])
def test_both_modes_give_the_same_program_of_a_model(name: str) -> None:
    case = load(CORE)[name].case()
    args, kwargs = case.inputs(0)
    strict = dynamo_lite.export(case.module, args, kwargs)
    free = dynamo_lite.export(case.module, args, kwargs, strict=False)
    assert code(free) == code(strict)
    assert str(free.graph_signature) == str(strict.graph_signature)
    assert unsound(free) == []


def test_nodes_tell_the_line_and_the_module() -> None:
    module, args, _ = SAME["buffer_assigned"]()
    both = [dynamo_lite.export(module, args, strict=strict) for strict in (True, False)]
    for left, right in zip(*(program.graph.nodes for program in both)):
        for key in ("stack_trace", "nn_module_stack", "torch_fn"):
            assert left.meta.get(key) == right.meta.get(key), (left.name, key)


# -- effects ---------------------------------------------------------------------------------------------------------

LOG: list[Any] = []
SETTINGS = {"mode": "a"}
CALLS = 0


def _counts(self: Any, x: Tensor) -> Tensor:
    self.calls = getattr(self, "calls", 0) + 1
    return x + self.calls


def _keeps(self: Any, x: Tensor) -> Tensor:
    self.last = x * 2
    return self.last + 1


def _logs(self: Any, x: Tensor) -> Tensor:
    LOG.append(x)
    return x + len(LOG)


def _sets(self: Any, x: Tensor) -> Tensor:
    SETTINGS["mode"] += "b"
    return x + len(SETTINGS["mode"])


def _global(self: Any, x: Tensor) -> Tensor:
    global CALLS
    CALLS += 1
    return x + CALLS


def _default(self: Any, x: Tensor, seen: list[int] = []) -> Tensor:  # noqa: B006
    seen.append(1)
    return x + len(seen)


def _class(self: Any, x: Tensor) -> Tensor:
    Counter.made += 1
    return x + Counter.made


class Counter:
    made = 0


def _closure() -> Any:
    calls = 0

    def forward(self: Any, x: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return x + calls

    return forward


EFFECTS = {
    "attribute": (_counts, "self.calls is changed"),
    "list": (_logs, "is changed"),
    "dict": (_sets, "is changed"),
    "global": (_global, "the global CALLS is changed"),
    "default": (_default, "is changed"),
    "class": (_class, "the attribute made of class Counter is changed"),
    "closure": (_closure(), "a variable of an enclosing function is changed"),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_an_effect_is_put_back_and_said(name: str) -> None:
    forward, said = EFFECTS[name]
    module = Wrap(forward)
    with pytest.raises(errors.GraphBreak):
        dynamo_lite.export(module, (x(),))
    program = dynamo_lite.export(module, (x(),), strict=False)
    assert any(said in text for text in unsound(program)), program.notes
    # The heap is as before: eager's first call gives what the export saw, and it gives it to each caller.
    ours = [program.module()(x()) for _ in range(2)]
    theirs = module(x())
    assert_same(ours[0], theirs)
    assert_same(ours[1], theirs)


def test_a_tensor_that_is_kept_is_put_back_and_said() -> None:
    module = Wrap(_keeps)
    program = dynamo_lite.export(module, (x(),), strict=False)
    assert not hasattr(module, "last")
    assert unsound(program) == ["self.last is changed; the program does not change it"]


def test_an_effect_of_an_argument_is_said() -> None:
    def forward(self: Any, items: list[Tensor]) -> Tensor:
        items.append(items[0] + 1)
        return items[0] * 2

    items = [x()]
    program = dynamo_lite.export(Wrap(forward), (items,), strict=False)
    assert len(items) == 1
    assert unsound(program) == ["the argument args_0 is changed; the program does not change it"]


def test_an_error_leaves_the_heap_as_it_was() -> None:
    def forward(self: Any, x: Tensor) -> Tensor:
        self.calls = 1
        self.count = self.count + 1
        raise KeyError("no")

    module = Wrap(forward)
    before = module.count
    with pytest.raises(KeyError):
        dynamo_lite.export(module, (x(),), strict=False)
    assert not hasattr(module, "calls")
    assert module.count is before
    assert torch.equal(before, torch.zeros(4))


def test_a_cache_does_not_keep_what_the_run_made() -> None:
    @functools.lru_cache
    def table(n: int) -> Tensor:
        return torch.arange(float(n))

    module = Wrap(lambda self, x: x + table(4))
    program = dynamo_lite.export(module, (x(),), strict=False)
    assert table.cache_info().currsize == 0
    assert_same(program.module()(x()), module(x()))


def test_an_iterator_that_moves_on_is_said() -> None:
    steps = iter(range(10))
    program = dynamo_lite.export(Wrap(lambda self, x: x + next(steps)), (x(),), strict=False)
    text = "a range_iterator from before the call is advanced: its value is a constant of the program"
    assert unsound(program) == [text]


# -- calls -----------------------------------------------------------------------------------------------------------

CALLED = {
    "clock": (lambda self, x: x + time.time(), "time.time()"),
    "random": (lambda self, x: x + random.random(), "random() gives another answer"),
    "python random": (lambda self, x: x + random.uniform(0, 1), "random.Random.uniform()"),
    "address": (lambda self, x: x + id(self) % 7, "id() gives another answer"),
    "seed": (lambda self, x: (torch.manual_seed(1), x)[1] * 2, "manual_seed()"),
    "folder": (lambda self, x: x + len(os.listdir(os.path.dirname(__file__))), "reaches outside of the process"),
}


@pytest.mark.parametrize("name", CALLED)
def test_a_call_that_strict_refuses_is_said(name: str) -> None:
    forward, said = CALLED[name]
    with pytest.raises(errors.GraphBreak):
        dynamo_lite.export(Wrap(forward), (x(),))
    program = dynamo_lite.export(Wrap(forward), (x(),), strict=False)
    assert any(said in text for text in unsound(program)), unsound(program)
    at = next(frames for text, frames in program.notes.items() if said in text)
    assert any(frame.filename == __file__ and frame.lineno == forward.__code__.co_firstlineno for frame in at)


TEXTS = {
    "str": lambda self, x: x + len(str(x)),
    "format": lambda self, x: x + len(f"{x}"),
    "number": lambda self, x: x + len(f"{x.sum():.3f}"),
    "list": lambda self, x: x + len(repr([x])),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_tensor_is_said(name: str) -> None:
    forward = TEXTS[name]
    program = dynamo_lite.export(Wrap(forward), (x(),), strict=False)
    assert unsound(program) == ["the text of a tensor is made: it is a fake tensor's, without data"]
    (at,) = (frames for text, frames in program.notes.items() if "the text of a tensor" in text)
    assert any(frame.filename == __file__ and frame.lineno == forward.__code__.co_firstlineno for frame in at)


def test_what_is_printed_matters_to_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    def forward(self: Any, x: Tensor) -> Tensor:
        print("got", x, x.shape[0])
        return x * 2

    module = Wrap(forward)
    trace = dynamo_lite.trace(module, (torch.randn(6, 4),), dynamic_shapes=(({0: Dim("n")},),), strict=False)
    assert capsys.readouterr().out == "got tensor(...) 6\n"
    assert unsound(trace.program) == [] and not trace.specializations
    assert any("a tensor is printed" in text for text in trace.notes)
    other = torch.randn(3, 4)
    assert_same(trace.program.module()(other), other * 2)


def test_types_and_instances_are_answered_as_by_eager() -> None:
    def forward(self: Any, x: Tensor, n: int) -> Tensor:
        facts = [type(x) is Tensor, isinstance(x.shape[0], int), type(x.shape[0]) is int, type(n) is int]
        facts += [isinstance(int, type), type(self) is Wrap, isinstance(x, int), type("C", (), {}).__name__ == "C"]
        return x + sum(2**i for i, fact in enumerate(facts) if fact)

    module = Wrap(forward)
    shapes = (({0: Dim("n")}, None),)
    program = dynamo_lite.export(module, (torch.randn(6, 4), 3), dynamic_shapes=shapes, strict=False)
    assert "type" not in globals() and "isinstance" not in globals()
    assert unsound(program) == []
    other = torch.randn(3, 4)
    assert_same(program.module()(other, 3), module(other, 3))


SETTINGS_OF_THE_PROCESS = {
    "directory": (lambda self, x: (os.chdir("/"), x)[1] * 2, os.getcwd),
    "warnings": (
        lambda self, x: (warnings.simplefilter("ignore", ResourceWarning), x)[1] * 2,
        lambda: [*warnings.filters],
    ),
    "recursion": (lambda self, x: (sys.setrecursionlimit(5000), x)[1] * 2, sys.getrecursionlimit),
    "environment": (lambda self, x: (os.environ.update(DYNAMO_LITE_TEST="1"), x)[1] * 2, lambda: dict(os.environ)),
}


@pytest.mark.parametrize("name", SETTINGS_OF_THE_PROCESS)
def test_a_setting_of_the_process_is_put_back_and_said(name: str) -> None:
    forward, read = SETTINGS_OF_THE_PROCESS[name]
    before = read()
    program = dynamo_lite.export(Wrap(forward), (x(),), strict=False)
    assert read() == before
    assert any("the program changes" in text for text in unsound(program)), unsound(program)


def test_what_is_set_beside_the_program_stays() -> None:
    namespace: dict[str, Any] = {
        "__name__": "json.tool",
        "os": os,
    }  # a module of the standard library: none of the program
    exec("def load(): os.environ['DYNAMO_LITE_TEST'] = '1'; return 2", namespace)
    load = namespace["load"]
    program = dynamo_lite.export(Wrap(lambda self, x: x * load()), (x(),), strict=False)
    try:
        assert os.environ["DYNAMO_LITE_TEST"] == "1"
        assert not any("the program changes" in text for text in unsound(program))
    finally:
        os.environ.pop("DYNAMO_LITE_TEST", None)


IDENTITY = {
    "inputs": (lambda self, x, y: x * 2 if x is y else x * 3, True),
    "an input and a buffer": (lambda self, x, y: x * 2 if x is self.count else x * 3, True),
    "of a list": (lambda self, x, y: x * 2 if [x, y][1] is y else x * 3, True),
    "class": (lambda self, x, y: x + y.__class__.__name__.count("Tensor"), True),
    "None": (lambda self, x, y: x * 2 if self.bias is None else x * 3, False),
    "modules": (lambda self, x, y: x * 2 if self.linear is self else x * 3, False),
    "dtype": (lambda self, x, y: x * 2 if x.dtype is torch.float32 else x * 3, False),
    "class of a module": (lambda self, x, y: x + len(self.__class__.__name__), False),
}


@pytest.mark.parametrize("name", IDENTITY)
def test_a_question_of_identity_is_said_where_it_is_about_tensors(name: str) -> None:
    forward, said = IDENTITY[name]
    module = Wrap(forward)
    module.bias = None
    program = dynamo_lite.export(module, (x(), x()), strict=False)
    assert bool(unsound(program)) == said, unsound(program)


def test_a_profiler_stays_and_is_said() -> None:
    def profile(*_: Any) -> None:
        return None

    sys.setprofile(profile)
    try:
        program = dynamo_lite.export(Wrap(lambda self, x: x + 1), (x(),), strict=False)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert "a profiler is on" in unsound(program)[0]


# -- what has no program ---------------------------------------------------------------------------------------------

REFUSED = {
    "branch": (lambda self, x: x if x.sum() > 0 else -x, errors.DataDependent),
    "address": (lambda self, x: x + x.data_ptr() % 7, errors.DataDependent),
    "backward": (lambda self, x: (self.linear(x).sum().backward(), x)[1], errors.UnsupportedEffect),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_program_is_refused_at_the_line(name: str) -> None:
    forward, kind = REFUSED[name]
    with pytest.raises(kind) as caught:
        dynamo_lite.export(Wrap(forward), (x(),), strict=False)
    assert caught.value.frame is not None
    assert caught.value.frame.filename == __file__
    assert caught.value.frame.lineno == forward.__code__.co_firstlineno


def test_a_refusal_cannot_be_swallowed() -> None:
    def forward(self: Any, x: Tensor) -> Tensor:
        try:
            return x if x.sum() > 0 else -x
        except Exception:
            return x * 2

    with pytest.raises(errors.DataDependent):
        dynamo_lite.export(Wrap(forward), (x(),), strict=False)


def test_a_question_about_sizes_has_the_programs_line() -> None:
    def forward(self: Any, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0] // 3, 3, 4) if x.shape[0] % 3 == 0 else x

    with pytest.raises(errors.ConstraintViolation, match=r"return x\.reshape"):
        dynamo_lite.export(Wrap(forward), (torch.randn(6, 4),), dynamic_shapes=(({0: Dim("n")},),), strict=False)


def test_a_size_as_a_number_is_a_fixed_size() -> None:
    def forward(self: Any, x: Tensor) -> Tensor:
        return x * sum(range(x.shape[0]))

    trace = dynamo_lite.trace(Wrap(forward), (torch.randn(6, 4),), dynamic_shapes=(({0: Dim.AUTO},),), strict=False)
    assert [row.value for row in trace.specializations] == [6]


def test_functions_and_hooks() -> None:
    layer = nn.Linear(4, 4)
    layer.register_forward_hook(lambda module, args, out: out + 1)
    program = dynamo_lite.export(lambda x: layer(x) * 2, (x(),), strict=False)
    assert_same(program.module()(x()), layer(x()) * 2)
    method = dynamo_lite.export(layer.forward, (x(),), strict=False)
    assert_same(method.module()(x()), layer.forward(x()))


def test_a_compiled_function_is_recorded_as_what_it_computes() -> None:
    compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
    program = dynamo_lite.export(Wrap(lambda self, x: compiled(x) * 2), (x(),), strict=False)
    assert [n.name for n in program.graph.nodes if n.op == "call_function"] == ["sin", "add", "mul"]


def test_what_runs_the_program_is_out_of_reach() -> None:
    # A mark on a test, and the loader of a test's module, lead to every test of the session.
    reach = Reachable(Journal(lambda: None))
    reach.take(test_both_modes_give_the_same_program)
    assert reach.complete
    assert not any(reach.holds(part) for part in (pytest.mark, __spec__, __loader__))


def test_a_tensor_of_dynamic_size_that_a_hook_keeps() -> None:
    """It is found after the run, when no line of the program is at work: this was an IndexError."""

    class Module(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.kept: dict[str, Tensor] = {}
            self.linear.register_forward_hook(self.keep)

        def keep(self, layer: Any, args: Any, out: Tensor) -> None:
            self.kept["out"] = out

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x) + self.kept["out"]

    shapes = ({0: Dim("rows", min=2, max=9)},)
    with pytest.raises(errors.ConstraintViolation, match="only works for 2"):
        dynamo_lite.export(Module(), (torch.ones(2, 3),), dynamic_shapes=shapes, strict=False)


class Node:
    """Refers to itself, so that a program can reach its tensor past the arguments."""

    def __init__(self, x: Tensor) -> None:
        self.x, self.itself = x, weakref.ref(self)


def test_a_weak_reference_in_an_argument_is_that_of_the_example() -> None:
    """CPython asks it, and no hook tells: the program has the example's tensor, and takes no other object."""
    example, other = Node(torch.ones(3)), Node(torch.zeros(3))
    program = dynamo_lite.export(lambda node: node.itself().x * 2, (example,), strict=False).module()
    assert torch.equal(program(example), torch.ones(3) * 2)
    with pytest.raises(errors.InputMismatch):
        program(other)
