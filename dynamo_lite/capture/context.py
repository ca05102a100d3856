"""The context of the program that a recorder needs to add a node: the location in the source and in the modules."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn, Protocol

from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.capture.fakes.static_cache import Inexact


class NodeContext(Protocol):
    """Answers for the operator that is being recorded right now. The tracer implements it on the interpreter."""

    def stack_trace(self) -> str | None:
        """The program's stack in the format of `traceback`, outermost frame first; None leaves the entry out."""

    def module_stack(self) -> dict[str, tuple[str, str]]:
        """The modules whose forward is running, outermost first, in torch.export's final form:
        `{"L__self__": ("", "pkg.Model"), "L__self__layers_0": ("layers.0", "pkg.Block")}`, values (FQN, class)."""

    def source_fn_stack(self) -> list[tuple[str, Any]]:
        """(node name, function or module class) pairs as TorchDynamo leaves them; [] leaves the entry out."""

    def annotations(self) -> dict[str, Any]:
        """The user's own entries of the node (`node.meta["custom"]`); {} leaves the entry out."""

    def torch_fn(self) -> tuple[str, str] | None:
        """(unique name, "type.function") of the torch function that was called; None lets the recorder answer."""

    def mark(self) -> Any:
        """Where the program is, for an error that is found when the run is over."""

    def natively(self) -> AbstractContextManager[Any]:
        """Around code of a tensor class that the program runs again, and that is not to be looked into."""

    def refuse(self, error: CaptureError) -> NoReturn:
        """Raises what ends the recording; the program must not be able to catch it."""

    def restart(self, error: Inexact) -> NoReturn:
        """The recording has to be made again with less `memory`. Must not return."""

    def may_raise(self, operator: str, kinds: frozenset[type[BaseException]]) -> None:
        """At run time this operator may raise one of `kinds`, which depends on data: refuses where the program may
        catch it."""

    def in_handler(self) -> bool:
        """Whether the current operator is called within a `try` or `with` of the program. Quick."""

    def catches(self, kinds: frozenset[type[BaseException]]) -> bool:
        """Whether the program continues after an error of `kinds` at this operator, or raises another, known class.

        An error that a call in a `finally` may raise does not count as another class: the program fails in any case.
        """

    def goes_on(self, kinds: frozenset[type[BaseException]]) -> bool:
        """Whether the program goes on after an error of `kinds` at this operator."""

    def found_as_one(self, left: Any, right: Any) -> bool:
        """Whether a C container compares `left` and `right` by identity first, and both are the same object in eager
        although the recording has two."""

    def drawn(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of an operator that draws from a generator of the program's own, as operators; None otherwise."""

    def keeps(self, tensor: Any) -> bool:
        """Whether an outer tensor, which the program is about to change, is the same object in each call."""

    def note_state(self, name: str) -> None:
        """A tensor that no module registers has become the buffer `name` of the program."""


class NoContext:
    """A context with only the root module's class: for graphs that are made by hand and in tests."""

    def __init__(self, root_class: type | None = None) -> None:
        name = "" if root_class is None else f"{root_class.__module__}.{root_class.__qualname__}"
        self._stack = {"L__self__": ("", name)}

    def stack_trace(self) -> str | None:
        return None

    def module_stack(self) -> dict[str, tuple[str, str]]:
        return self._stack

    def source_fn_stack(self) -> list[tuple[str, Any]]:
        return []

    def annotations(self) -> dict[str, Any]:
        return {}

    def torch_fn(self) -> tuple[str, str] | None:
        return None

    def mark(self) -> Any:
        return ()

    def natively(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def refuse(self, error: CaptureError) -> NoReturn:
        raise error

    def restart(self, error: Inexact) -> NoReturn:
        raise error

    def may_raise(self, operator: str, kinds: frozenset[type[BaseException]]) -> None:
        return None

    def in_handler(self) -> bool:
        return False

    def catches(self, kinds: frozenset[type[BaseException]]) -> bool:
        return False

    def goes_on(self, kinds: frozenset[type[BaseException]]) -> bool:
        return False

    def found_as_one(self, left: Any, right: Any) -> bool:
        return False

    def drawn(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return None

    def keeps(self, tensor: Any) -> bool:
        return False

    def note_state(self, name: str) -> None:
        return None
