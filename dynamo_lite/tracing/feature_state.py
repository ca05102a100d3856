"""State of features during a run, and how a branch restores it.

The sides of a branch, the iterations of a loop and sub-graphs are run one after the other and undone, in one run. The
journal restores the heap; a feature's own state is restored here. A class of state defines how (`save`, `restore`), or
why a side may leave it as it is (`stays`): a class with neither cannot be defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, TypeVar

AnyState = TypeVar("AnyState", bound="FeatureState")


class FeatureState:
    """The state of one feature during a run: `TracerView.own` creates it when it is first needed."""

    from_the_start: ClassVar[bool] = False
    """Whether it is made when the run begins, even if it is never used."""

    stays: ClassVar[str] = ""
    """Why the state may stay as a side leaves it; empty if it is put back."""

    def __init__(self, tracer: Any) -> None: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.stays:
            if cls.save is FeatureState.save or cls.restore is FeatureState.restore:
                raise TypeError(f"{cls.__name__} has neither `save` and `restore` nor a reason why it stays")
            _PUT_BACK.append(cls)

    def save(self) -> Any:
        """Return a copy of the state at the beginning of a side."""
        raise NotImplementedError

    def restore(self, saved: Any) -> None:
        """Restore the result of `save`, when the side is over."""
        raise NotImplementedError

    def changed(self, saved: Any) -> str | None:
        """Describe a change by the side that cannot be undone, or that no merge can express; else None."""
        return None


_PUT_BACK: list[type[FeatureState]] = []

Saved = Sequence[tuple[FeatureState, Any]]


def save_all(tracer: Any) -> Saved:
    """Return the state of all features at the beginning of a branch side, a loop iteration or a sub-graph."""
    states = [tracer.own(kind) for kind in _PUT_BACK]
    return [(state, state.save()) for state in states]


def changes(saved: Saved) -> Iterator[str]:
    """Yield descriptions of changes since `save_all` that cannot be undone."""
    for state, before in saved:
        what = state.changed(before)
        if what is not None:
            yield what


def restore_all(saved: Saved) -> None:
    """The state of all features is as it was at `save_all`."""
    for state, before in saved:
        state.restore(before)
