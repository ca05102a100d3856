"""Call plans and what is known of reads: nothing that was decided once hides a later guard, effect or refusal."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import GraphBreak

X = torch.arange(6.0).reshape(2, 3)
ENOUGH = 60
"""Objects made one after the other, so that ids come again."""


def equal_to_eager(program: Callable[..., Any], *args: Any) -> Any:
    """The trace, whose program agrees with eager."""
    found = dynamo_lite.trace(program, args)
    expected = program(*args)
    assert torch.equal(found.program.module()(*args), expected)
    assert found.guards.check(program, args) is None
    return found


# ---- one callable, reached in several ways


class _Keyed:
    """Its key is asked in a library (enum-like use of `id`), and then by the program."""

    def __init__(self) -> None:
        self.value = 1.0


def test_a_rule_asks_who_calls_each_time() -> None:
    """`id` in the standard library is its own affair; then the program asks."""
    from copy import deepcopy

    kept = _Keyed()

    def program(x: Any) -> Any:
        copied = deepcopy([kept.value])  # calls id() in the library
        return x + copied[0] + id(kept) % 2

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(program, (X,))
    assert caught.value.id == "unrecordable-id"


def test_a_native_callable_reached_through_a_callback_and_directly() -> None:
    scale = {"by": 2.0}

    def read(total: float, x: Any) -> float:
        return total + scale["by"] * len(x)

    def program(x: Any) -> Any:
        return x * reduce(read, [[1], [2, 3]], float(len("ab"))) + sum(map(partial(read, 0.0), [[1]]))

    found = equal_to_eager(program, X)
    scale["by"] = 3.0
    assert found.guards.check(program, (X,)) is not None


def test_a_bound_method_of_each_instance() -> None:
    class Step:
        def __init__(self, by: float) -> None:
            self.by = by

        def __call__(self, x: Any) -> Any:
            return x + self.by

        def twice(self, x: Any) -> Any:
            return x * self.by * 2

    steps = [Step(float(i)) for i in range(5)]

    def program(x: Any) -> Any:
        for step in steps:
            x = step(step.twice(x))
        return x

    for changed in steps:
        found = equal_to_eager(program, X)
        changed.by += 0.5
        assert found.guards.check(program, (X,)) is not None


# ---- what a callable is changes


def _helper(x: Any) -> Any:
    return x + 1


def _other(x: Any) -> Any:
    return x * 3


def test_a_function_patched_between_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any) -> Any:
        return _helper(x)

    found = equal_to_eager(program, X)
    monkeypatch.setitem(globals(), "_helper", _other)
    assert found.guards.check(program, (X,)) is not None
    equal_to_eager(program, X)


def test_the_code_of_a_function_set_between_exports() -> None:
    def helper(x: Any) -> Any:
        return x + 1

    def program(x: Any) -> Any:
        return helper(x)

    found = equal_to_eager(program, X)
    helper.__code__ = (lambda x: x - 5).__code__
    assert found.guards.check(program, (X,)) is not None
    equal_to_eager(program, X)


def test_a_function_of_torch_patched_between_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any) -> Any:
        return torch.nn.functional.relu(x)

    equal_to_eager(program, X)
    monkeypatch.setattr(torch.nn.functional, "relu", lambda x: x * 7)
    equal_to_eager(program, X)


def test_the_code_of_a_young_function_set_by_the_program() -> None:
    def program(x: Any) -> Any:
        def helper(x: Any) -> Any:
            return x + 1

        x = helper(x)
        helper.__code__ = _other.__code__
        return helper(x)

    equal_to_eager(program, X)


def test_a_class_gets_another_call_in_the_run() -> None:
    def program(x: Any) -> Any:
        class Step:
            def __call__(self, x: Any) -> Any:
                return x + 1

        step = Step()
        x = step(x)
        Step.__call__ = lambda self, x: x * 3  # type: ignore[method-assign]
        x = step(x)
        step.__class__ = type("Other", (), {"__call__": lambda self, x: x - 7})
        return step(x)

    equal_to_eager(program, X)


def test_a_function_marked_as_a_constant_by_the_program() -> None:
    def program(x: Any) -> Any:
        def five() -> Any:
            return 5

        x = x + five()
        torch.compiler.assume_constant_result(five)
        return x + five()

    found = dynamo_lite.trace(program, (X,))
    assert any("assumed to be constant" in note for note in found.notes)


# ---- ids that come again


def test_functions_with_reused_ids() -> None:
    """Each is made, called and gone: a plan of one is not that of the next."""

    def program(x: Any) -> Any:
        for i in range(ENOUGH):
            x = x + (lambda y, i=i: y * i if i % 2 else i)(i)
            x = eval("lambda y: y + n", {"n": i})(x)
        return x

    equal_to_eager(program, X)


def test_reads_through_super_with_reused_ids() -> None:
    """A `super()` is made for each read: what is known of one is nothing of the next."""
    bases = [type(f"Base{i}", (), {"value": float(i)}) for i in range(8)]
    subs = [type(f"Sub{i}", (base,), {}) for i, base in enumerate(bases)]

    def program(x: Any) -> Any:
        for sub in subs:
            x = x + super(sub, sub).value
        return x

    found = equal_to_eager(program, X)
    for base in bases:
        base.value += 1.0  # type: ignore[attr-defined]
        assert found.guards.check(program, (X,)) is not None
        base.value -= 1.0  # type: ignore[attr-defined]


def test_reads_of_bound_methods_with_reused_ids() -> None:
    def one(self: Any) -> None: ...
    def two(self: Any) -> None: ...

    functions = [one, two]
    for n, function in enumerate(functions):
        function.weight = float(n)  # type: ignore[attr-defined]

    def program(x: Any) -> Any:
        for function in functions:
            x = x + types.MethodType(function, x).weight
        return x

    found = equal_to_eager(program, X)
    two.weight = 9.0  # type: ignore[attr-defined]
    assert found.guards.check(program, (X,)) is not None


# ---- the same read from several places


def test_a_builtin_that_one_of_two_modules_shadows_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """That a module has no global of a builtin's name is a condition for each module that uses the builtin."""
    modules = []
    for name in ("plans_one", "plans_two"):
        module = types.ModuleType(name)
        exec("def size(x): return float(len(x))", vars(module))
        monkeypatch.setitem(sys.modules, name, module)
        modules.append(module)

    def program(x: Any) -> Any:
        return x + modules[0].size([1]) + modules[1].size([1, 2])

    for module in modules:
        found = equal_to_eager(program, X)
        monkeypatch.setattr(module, "len", lambda x: 40, raising=False)
        assert found.guards.check(program, (X,)) is not None
        equal_to_eager(program, X)


def test_an_attribute_of_two_instances_of_one_class() -> None:
    class Box:
        weight = 1.0

    first, second = Box(), Box()

    def program(x: Any) -> Any:
        return x * first.weight + second.weight + first.weight

    for box in (first, second):
        found = equal_to_eager(program, X)
        box.weight = 2.5
        assert found.guards.check(program, (X,)) is not None


def test_an_attribute_read_again_when_its_object_has_another_class() -> None:
    class One:
        weight = 1.0

    class Two:
        weight = 2.0

    def program(x: Any) -> Any:
        made = One()
        x = x + made.weight
        made.__class__ = Two
        return x * made.weight

    for cls in (One, Two):
        found = equal_to_eager(program, X)
        cls.weight += 1.0
        assert found.guards.check(program, (X,)) is not None


# ---- a feature wakes in the middle of a run: what was called before is looked at as well


def test_a_text_after_the_callable_was_used() -> None:
    def program(x: Any) -> Any:
        n = len("abc") + len(f"{x}".strip())
        return x + n

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(program, (X,))
    assert caught.value.id == "tensor-repr"


def test_a_node_after_the_callable_was_used() -> None:
    def program(x: Any) -> Any:
        kind = str(1.5)
        node = (x * 2).grad_fn
        return x + len(kind) + len(str(node))

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(program, (X.clone().requires_grad_(),))
    assert caught.value.id == "autograd-graph"


def test_a_node_read_before_and_after_it_is_known() -> None:
    def program(x: Any) -> Any:
        y = x * 2
        return y + len(y.grad_fn.name()) + len(y.grad_fn.next_functions)

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(program, (X.clone().requires_grad_(),))
    assert caught.value.id == "autograd-graph"


def test_a_size_after_the_callable_was_used() -> None:
    """json knows nothing of sizes: it gets the number, and the number is a condition."""

    def program(x: Any) -> Any:
        return x + len(json.dumps(3)) + len(json.dumps(x.shape[0]))

    shapes = ({0: torch.export.Dim.AUTO},)
    found = dynamo_lite.trace(program, (X,), dynamic_shapes=shapes)
    assert torch.equal(found.program.module()(X), program(X))
    assert found.specializations


def test_an_effect_after_the_callable_was_used_on_the_program_s_own() -> None:
    kept: list[float] = []

    def program(x: Any) -> Any:
        own: list[float] = []
        own.append(1.0)
        kept.append(2.0)
        return x + len(own)

    with pytest.raises(GraphBreak):
        dynamo_lite.export(program, (X,))
    assert kept == []


def test_an_iterator_from_outside_after_one_of_the_program() -> None:
    outside = iter([1.0, 2.0])

    def program(x: Any) -> Any:
        return x + next(iter([3.0])) + next(outside)

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(program, (X,))
    assert caught.value.id == "outside-iterator"
