"""Behaviour of torch that the tracer depends on, each as a question with the expected answer for each version.

A name that exists may have changed its behaviour: these contracts find it. A question takes a few milliseconds, changes
nothing and calls nothing of dynamo_lite itself. `costs`: what breaks if torch behaves differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from dynamo_lite.symbolic_shapes.torch_versions import Variant, current
from dynamo_lite.torch_internals._torch_autograd import function_apply
from dynamo_lite.torch_internals._torch_contracts import (
    METHOD_TO_OPERATOR,
    SCHEMA_VERSION,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    ProxyTorchDispatchMode,
    SymNode,
    TorchDispatchMode,
    called_module,
    dropout_decomposition,
    enable_python_dispatcher,
    keystr,
    mark_dynamic,
    pytree,
    set_mode_pre_dispatch,
    symbol_is_type,
    unbacked_kinds,
)


class Contract(NamedTuple):
    """`ask()` returns the answer; `expected` has the one for each version."""

    name: str
    ask: Callable[[], Any]
    expected: tuple[Variant, ...]
    costs: str


CONTRACTS: list[Contract] = []


def _contract(costs: str, *expected: Variant) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Registers a question; without `expected` the answer is True in all versions."""

    def register(ask: Callable[[], Any]) -> Callable[[], Any]:
        CONTRACTS.append(Contract(ask.__name__, ask, expected or (Variant(True),), costs))
        return ask

    return register


def broken() -> Iterator[tuple[Contract, str]]:
    """Yield the contracts that the installed torch does not keep, with the difference."""
    for row in CONTRACTS:
        expected = current(*row.expected)
        try:
            answer = row.ask()
        except Exception as error:
            answer = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        if answer != expected:
            yield row, f"expected {expected!r}, is {answer!r}"


# -- autograd and modules ----------------------------------------------------------------------------------------------
@_contract(
    "autograd.Function is recorded with its own backward or refused",
    Variant("function", until=(2, 14)),
    Variant("classmethod_descriptor", since=(2, 14)),
)
def function_apply_is() -> str:
    return type(function_apply()).__name__


@_contract(
    "a branch of torch.cond that returns its input through a dropout that is off",
    Variant(False, until=(2, 14)),
    Variant(True, since=(2, 14)),
)
def decomposed_dropout_that_is_off_aliases() -> bool:
    x = torch.ones(2)
    return bool(dropout_decomposition(x, 0.5, False).data_ptr() == x.data_ptr())


@_contract("without hooks, a call of a module is taken to be its forward")
def a_call_of_a_module_is_wrapped_call_impl() -> bool:
    return torch.nn.Module.__call__ is called_module()


@_contract("dicts and sets of tensors")
def the_hash_of_a_tensor_is_its_id() -> bool:
    x = torch.ones(2)
    return hash(x) == id(x)


# -- modes -------------------------------------------------------------------------------------------------------------
class _Seen(TorchDispatchMode):
    """Records the operators that reach a mode, with their results."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.rows.append((str(func), out))
        return out


@_contract("every capture: the recorder's mode must have the type of make_fx's")
def only_a_proxy_mode_is_admitted_before_dispatch() -> bool:
    try:
        set_mode_pre_dispatch(object())
    except AssertionError:
        return issubclass(ProxyTorchDispatchMode, TorchDispatchMode)
    return False


@_contract("the node of a tensor that a factory function made is found by its copy")
def a_factory_returns_a_copy_of_what_the_mode_saw() -> bool:
    with _Seen() as seen:
        by_function, by_operator = torch.arange(4), torch.ops.aten.arange.default(4)
    return (by_function is seen.rows[0][1], by_operator is seen.rows[-1][1]) == (False, True)


@_contract("constants written as torch.tensor([...])")
def a_tensor_of_numbers_is_lifted() -> bool:
    with _Seen() as seen:
        torch.tensor([1, 2])
    return [name for name, _ in seen.rows][:1] == ["aten.lift_fresh.default"]


@_contract("operators with data: which error shows that a size is data-dependent")
def a_size_that_needs_data_is_a_dynamic_output_shape() -> bool:
    with FakeTensorMode() as mode:
        try:
            torch.nonzero(mode.from_tensor(torch.ones(2)))
        except DynamicOutputShapeException:
            return True
    return False


# -- fake tensors ------------------------------------------------------------------------------------------------------
@_contract("type(x), isinstance(x, ...) of fake tensors; C++ fake tensors would be no subclass")
def a_fake_tensor_is_of_a_python_class() -> bool:
    fake = FakeTensorMode().from_tensor(torch.ones(2))
    return type(fake) is FakeTensor and isinstance(fake, torch.Tensor)


@_contract("the memory of results for symbolic sizes")
def a_mode_dispatches_by_its_own_attribute() -> bool:
    mode, calls = FakeTensorMode(), []
    real = mode._cached_dispatch_impl
    mode._cached_dispatch_impl = lambda *a: calls.append(1) or real(*a)  # type: ignore[method-assign,func-returns-value]
    mode.from_tensor(torch.ones(2)).sin()
    return bool(calls)


@_contract("the strides of tensors without elements")
def strides_of_empty_tensors_use_at_least_one() -> bool:
    return torch.empty(3, 0, 2).stride() == (2, 2, 1)


@_contract("operators on meta tensors set no data")
def meta_tensors_have_no_address() -> bool:
    return torch.empty(2, device="meta").data_ptr() == 0


# -- sizes -------------------------------------------------------------------------------------------------------------
class _Node(SymNode):
    """A node that records the methods called on it."""

    pytype = int
    constant = fx_node = None
    calls: list[str] = []

    def __init__(self) -> None:
        pass

    def is_int(self) -> bool:
        return True

    def is_symbolic(self) -> bool:
        return True

    def wrap_int(self, num: int) -> Any:
        self.calls.append(f"wrap_int {num}")
        return self

    def add(self, other: Any) -> Any:
        self.calls.append("add")
        return self


@_contract("all arithmetic on sizes")
def a_size_asks_its_node() -> bool:
    _Node.calls = []
    total = torch.SymInt(_Node()) + 1
    return isinstance(total, torch.SymInt) and "add" in _Node.calls


@_contract(
    "SymBool ^ SymBool",
    Variant(False, until=(2, 14)),
    Variant(True, since=(2, 14)),
)
def nodes_have_xor() -> bool:
    return "xor" in METHOD_TO_OPERATOR


@_contract("names of our symbols: a backed one named like an unbacked one is taken for one")
def the_kind_of_a_symbol_is_the_prefix_of_its_name() -> bool:
    import sympy

    kinds = unbacked_kinds()
    return bool(symbol_is_type(sympy.Symbol("unit"), kinds)) and not symbol_is_type(sympy.Symbol("s0"), kinds)


@_contract("marks on tensors where dynamic_shapes is not given")
def mark_dynamic_sets_attributes_with_half_open_ranges() -> bool:
    x = torch.ones(4)
    mark_dynamic(x, 0, min=2)
    (found,) = x._dynamo_dynamic_range  # type: ignore[attr-defined]
    return x._dynamo_dynamic_indices == {0} and (found.dim, found.min, found.max) == (0, 2, None)  # type: ignore[attr-defined]


# -- programs ----------------------------------------------------------------------------------------------------------
@_contract("names of inputs in guards and errors")
def a_path_of_keys_as_text() -> bool:
    return keystr((pytree.SequenceKey(0), pytree.MappingKey("a"), pytree.GetAttrKey("b"))) == "[0]['a'].b"


@_contract("programs saved by another version are loaded: torch refuses another major version", Variant(8))
def major_version_of_saved_programs() -> int:
    return int(SCHEMA_VERSION[0])


@_contract("a mode that is on answers for torch code below the operators")
def nothing_is_being_compiled_or_exported() -> bool:
    return not torch.compiler.is_compiling() and not torch.compiler.is_exporting()


@_contract("operators are seen before composite ones are taken apart")
def linear_is_taken_apart_below_the_python_dispatcher() -> bool:
    with enable_python_dispatcher(), _Seen() as seen:
        torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2))
    return "aten.linear.default" not in [name for name, _ in seen.rows]

