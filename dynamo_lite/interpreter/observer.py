"""The one interface between the interpreter and its observer (the tracer).

The interpreter calls an `Observer` at a few well-defined points. Every method here does nothing;
`interpret()` runs with this class. A subclass overrides the methods it needs; the interpreter
determines once, when it is created, which are overridden, so that an unused hook costs nothing.

Vocabulary of `kind`:

=========  ==============================================  =================================
kind       owner                                           key
=========  ==============================================  =================================
"attr"     the object                                      the attribute's name
"item"     the container                                   the index or key (a slice as such)
"global"   the globals dict                                the name
"builtin"  the builtins dict                               the name
"cell"     the cell (types.CellType) of a closure          the free variable's name
"name"     the namespace of a class body or exec           the name
"inplace"  the left operand of `a += b` (writes only)      the operator, "+" for `+=`
=========  ==============================================  =================================
"""

from __future__ import annotations

from types import CodeType, FrameType, FunctionType
from typing import Any, Final, Protocol


class _Sentinel:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


NOT_HANDLED: Final = _Sentinel("NOT_HANDLED")
"""The result of `before_call` and `on_truth` for: proceed as CPython would."""

DELETED: Final = _Sentinel("DELETED")
"""The `value` of a `before_write` that is a deletion."""


class Observer:
    """Watches an interpreter. The default does nothing."""

    policy: Any = None
    """A key for everything that the results of `runs_natively` depend on, besides a function's code and module:
    observers with equal keys return the same results, which are kept from run to run. None: they are not kept."""

    def before_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Before any call that the interpreted program makes, or that a lookaside makes for it.

        `fn` is the callee: a Python function, a C callable, a class, an instance with __call__; a bound method arrives
        as (function, (self, *args)) when its function is a Python function and as (method descriptor of the type,
        (self, *args)) when it is a C method, so that one table keyed by function serves every spelling. Returns
        NOT_HANDLED to proceed, or the value that replaces the call's result. An exception raised here is raised at the
        call.
        """
        return NOT_HANDLED

    def runs_natively(self, fn: FunctionType) -> bool:
        """Whether CPython may evaluate this Python function itself (trusted code). Asked once per code object."""
        return False

    def enters_by_trampoline(self, fn: FunctionType) -> bool:
        """Native code that the program called is about to call `fn` back: True to interpret it (see trampolines.py)."""
        return True

    def call_aside(self, fn: FunctionType, args: tuple[Any, ...]) -> Any:
        """Our own Python uses a container of the program's, which calls this `__hash__` or `__eq__`. Returns its
        result. CPython would not have called it, so the call must have no effects."""
        return NOT_HANDLED

    def after_native_call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """After a C callable or a trusted Python function returned. Returns the result for the program."""
        return result

    def after_operator(self, operands: tuple[Any, ...], result: Any) -> Any:
        """After an operator of operands that are not all built-in numbers. Returns the result for the program."""
        return result

    def on_read(self, kind: str, owner: Any, key: Any, value: Any) -> Any:
        """After the program read `value`. Returns the value for the program (usually `value`)."""
        return value

    def on_look(self, how: str, owner: Any, key: Any = None) -> None:
        """The program is about to inspect `owner` in another way than by reading one value of it.

        `how` is "length", "items" (its elements, in order: iteration, unpacking), "unordered" (a dict's items, whose
        order does not show: for a call, for the dict `key`, or in set algebra), "keys" (those of a dict), "truth",
        "key" (whether `key` is in it), "parts" (whatever a built-in operator, comparison or conversion to text finds in
        it, at any depth), "is" (whether it is the object `key`), "attr" (the attribute `key` was looked up and does not
        exist), or "global" (neither these globals nor the builtins have the name `key`).
        """

    def before_write(self, kind: str, owner: Any, key: Any, value: Any) -> bool | None:
        """Before the program stores `value` (or DELETED). Raising refuses the write. True, for an attribute ("attr"):
        the observer keeps the value itself, and the object stays as it is."""

    def before_raise(self, error: BaseException) -> None:
        """Before `raise error`, which sets the exception's traceback and context."""

    def on_caught(self, error: BaseException) -> None:
        """An exception, the program's or C code's, goes to a handler of the program (`except`, `finally`, `with`)."""

    def on_left(self, frame: Any, entry: FrameType) -> None:
        """An exception propagates out of `frame`. Called only while object lifetimes are tracked. `entry` represents
        the frame in the traceback. No code of the program may run here."""

    def on_ended(self, frame: Any) -> None:
        """`frame` has come to its end, in a run whose program sees when objects die. Its variables are still there."""

    def on_swallowed(self) -> None:
        """C code has taken an exception for an answer (getattr() with a default), in such a run."""

    def on_truth(self, value: Any) -> Any:
        """Before the truth of a value other than a built-in constant: a bool decides it, NOT_HANDLED proceeds."""
        return NOT_HANDLED

    def on_branch(self, frame: Any, value: Any, jumps_if: bool, target: int, keeps: bool) -> Any:
        """A jump of `frame` (at pc - 1) depends on `value`, not a constant. Returns NOT_HANDLED, or the result of the
        jump's handler after both sides have run. keeps: the value stays on the stack if the jump is taken."""
        return NOT_HANDLED

    def on_iter(self, value: Any) -> Any:
        """A `for` statement or a comprehension calls iter(value). Returns the iterator, or NOT_HANDLED."""
        return NOT_HANDLED

    def on_for(self, frame: Any, iterator: Any, target: int) -> Any:
        """The same for a FOR_ITER over an iterator that is not a built-in one."""
        return NOT_HANDLED

    def on_extend(self, target: list[Any], value: Any) -> Any:
        """The items of `value` are added to a list that is only on the stack, as in `[*value]`. Returns the replacement
        for the list, or NOT_HANDLED."""
        return NOT_HANDLED

    def on_subscript(self, frame: Any, container: Any, key: Any) -> Any:
        """`container[key]`, both on the stack of `frame`, the key not a constant. Returns NOT_HANDLED, or the handler's
        result after the frame has continued from there."""
        return NOT_HANDLED

    def on_call_at(self, frame: Any) -> Any:
        """A call is about to be made, whose callable and arguments are on the stack of `frame`. Returns NOT_HANDLED, or
        the handler's result after the frame has continued from there."""
        return NOT_HANDLED

    def on_store_key(self, container: Any, key: Any) -> Any:
        """Returns the key to use in `container[key] = value`, for a key that is not a constant."""
        return key

    def on_not(self, value: Any) -> Any:
        """Returns `not value` for a value that is not a bool, or NOT_HANDLED."""
        return NOT_HANDLED

    def on_equal(self, left: Any, right: Any, wanted: bool) -> Any:
        """`left == right` (`left != right` if not `wanted`) of two lists or tuples: its value, or NOT_HANDLED."""
        return NOT_HANDLED

    def on_repeat(self, left: Any, right: Any) -> Any:
        """`left * right`, one of which is a list or a tuple: its value, or NOT_HANDLED."""
        return NOT_HANDLED

    def on_unbound(self, frame: Any, index: int) -> None:
        """A variable without a value is read (or all of them are, by `locals()`: index -1)."""

    def on_key(self, key: Any) -> Any:
        """Returns the key to store for one that is not an atom, in a dict or set, by an instruction of the program."""
        return key

    def on_formatted(self, text: str) -> str:
        """Returns the text for the program of one value, made for an f-string."""
        return text

    def on_text(self, parts: list[str]) -> str:
        """An f-string of parts that are not all plain strings: its text."""
        return "".join(parts)

    def on_native_result(self, fn: FunctionType, result: Any) -> Any:
        """Native code called `fn` back, which returned `result`. Returns the result for the native code."""
        return result

    def on_store_local(self, frame: Any) -> None:
        """Before a variable of `frame` is set by its f_locals. Raising refuses it."""

    def on_identity(self, left: Any, right: Any) -> Any:
        """`left is right` for two different objects (`right` is not None): the answer."""
        return False

    def on_enter(self, frame: Any) -> None:
        """A frame of the program starts (a generator's frame: each time that it is resumed)."""

    def on_exit(self, frame: Any) -> None:
        """The frame returned, yielded or raised."""

    def on_released(self, code: CodeType, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
        """A function returned, in a run whose program sees when objects die. Its variables are empty by now; the
        interpreter still holds the arguments, which CPython hands over to the function."""

    def on_instruction(self, frame: Any, instruction: Any) -> None:
        """Before each instruction (logging only: overriding this makes the interpreter several times slower)."""

    def on_native_frame(self, code: CodeType) -> None:
        """The sentry saw CPython evaluate a frame of the program (interpreter/frame_audit.py)."""


class HookTable(Protocol):
    """The methods of an observer as the interpreter calls them: None for one that it does not override, so that an
    unused hook is one test for None."""

    before_call: Any = None
    call_aside: Any = None
    after_native_call: Any = None
    after_operator: Any = None
    on_read: Any = None
    on_look: Any = None
    before_write: Any = None
    before_raise: Any = None
    on_caught: Any = None
    on_left: Any = None
    on_ended: Any = None
    on_swallowed: Any = None
    on_truth: Any = None
    on_branch: Any = None
    on_iter: Any = None
    on_for: Any = None
    on_extend: Any = None
    on_subscript: Any = None
    on_call_at: Any = None
    on_store_key: Any = None
    on_not: Any = None
    on_equal: Any = None
    on_repeat: Any = None
    on_unbound: Any = None
    on_store_local: Any = None
    on_enter: Any = None
    on_exit: Any = None
    on_released: Any = None
    on_instruction: Any = None
    on_identity: Any = None
    on_key: Any = None
    on_formatted: Any = None
    on_text: Any = None
    on_native_result: Any = None
    enters_by_trampoline: Any = None
    runs_natively: Any = None


class Hooks(HookTable):
    """The hooks of one observer."""

    def __init__(self, observer: Observer) -> None:
        for name in HookTable.__annotations__:
            method = getattr(observer, name)
            is_default = getattr(method, "__func__", None) is Observer.__dict__[name]
            setattr(self, name, None if is_default else method)
