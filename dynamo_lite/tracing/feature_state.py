"""State of features during a run, and how a branch restores it.

The sides of a branch, the iterations of a loop and sub-graphs are run one after the other and undone, in one run. The
journal restores the heap; a feature's own state is restored here. A class of state defines how (`save`, `restore`), or
why a side may leave it as it is (`stays`): a class with neither cannot be defined. One that defines `merge` may be left
different by the two sides of a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

AnyState = TypeVar("AnyState", bound="FeatureState")


class MergedState(NamedTuple):
    """How the state of a feature is merged behind a branch.

    put: writes it, when the results of the operator are there
    difference: what no operator gives, if anything: the sides are run on to where the caller's code ends; else ""
    """

    put: Callable[[], None]
    difference: str


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
        if cls.merge is not FeatureState.merge:
            _MERGED.append(cls)

    def save(self) -> Any:
        """Return a copy of the state at the beginning of a side."""
        raise NotImplementedError

    def restore(self, saved: Any) -> None:
        """Restore the result of `save`, when the side is over."""
        raise NotImplementedError

    def changed(self, saved: Any) -> str | None:
        """Describe a change by the side that cannot be undone, or that no merge can express; else None."""
        return None

    def left_behind(self) -> Any:
        """Return what a side of a branch leaves, for `merge`."""
        raise NotImplementedError

    def merge(self, merge: Any, left: Any, right: Any) -> MergedState:
        """Plan the state behind a branch, of what its sides leave. merge: as of control_flow/merge.py, of which the
        plans are part of the operator. Raises what it raises where the sides cannot be merged at all."""
        raise NotImplementedError


_PUT_BACK: list[type[FeatureState]] = []
_MERGED: list[type[FeatureState]] = []

Saved = Sequence[tuple[FeatureState, Any]]


def save_all(tracer: Any) -> Saved:
    """Return the state of all features at the beginning of a branch side, a loop iteration or a sub-graph."""
    states = [tracer.own(kind) for kind in _PUT_BACK]
    return [(state, state.save()) for state in states]


def left_all(tracer: Any) -> Sequence[tuple[FeatureState, Any]]:
    """Return what a side of a branch leaves in the states that can be merged."""
    return [(state, state.left_behind()) for state in (tracer.own(kind) for kind in _MERGED)]


def changes(saved: Saved, of_branch: bool = False) -> Iterator[str]:
    """Yield descriptions of changes since `save_all` that cannot be undone. of_branch: by a side of a branch, whose
    states are merged if they define that."""
    for state, before in saved:
        if of_branch and type(state) in _MERGED:
            continue
        what = state.changed(before)
        if what is not None:
            yield what


def restore_all(saved: Saved) -> None:
    """The state of all features is as it was at `save_all`."""
    for state, before in saved:
        state.restore(before)
