"""Lists and dicts that each iteration creates anew: `c = [c[0] * 0.5, c[0]]`.

The loop carries their items, like those of a tuple, and each iteration begins with a new container. It is
indistinguishable from the one that the iteration before created if only one variable or one other container holds that;
and from the one before the loop, if the program created it and nothing else holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dynamo_lite.control_flow.interfaces import Forking
from dynamo_lite.control_flow.reachable import parts_of, references_before
from dynamo_lite.control_flow.states import FrameState, Side, cannot_merge


class Rebound:
    """Finds such containers of one iteration. made: those that it began with, and copies of them from then. live: the
    variables in use in iterations and after the loop."""

    def __init__(
        self, tracer: Forking, frame: Any, base: FrameState, side: Side, live: int, made: Sequence[tuple[Any, Any]]
    ) -> None:
        self._tracer, self._frame, self._base, self._side, self._live = tracer, frame, base, side, live
        self._made = {id(container) for container, _ in made}
        if not all(_is_as_before(container, copy) for container, copy in made):
            cannot_merge("branch-unsupported", why="an iteration changes a list or dict that the one before has made")

    def holds(self, left: Any, right: Any) -> bool:
        """Whether `right`, which exists after the iteration, can take the place of `left` in the next."""
        side, tracer = self._side, self._tracer
        if id(right) not in side.new or self._behind(right) != 1:
            return False
        if id(left) in self._made:
            return True
        if tracer.writes.is_old(left) or (id(left), "items") in side.heap:
            return False
        roots = [*self._in_use(self._base.locals), *self._base.stack]
        return references_before(tracer, left, self._frame, roots) == 1

    def _behind(self, container: Any) -> int:
        """Return how many references there are to a new container after the iteration; older objects hold it if the
        iteration wrote to them."""
        assert self._side.state is not None
        new, state = self._side.new, self._side.state
        roots = [*self._in_use(state.locals), *state.stack]
        for _, contents in self._side.heap.values():
            if not isinstance(contents, bytes):
                roots += contents.values() if isinstance(contents, dict) else contents
        count, todo, seen = 0, [roots], set[int]()
        while todo:
            for part in todo.pop():
                count += part is container
                if id(part) in new and id(part) not in seen:
                    seen.add(id(part))
                    todo.append(parts_of(part))
        return count

    def _in_use(self, variables: Iterable[Any]) -> list[Any]:
        return [value for index, value in enumerate(variables) if self._live >> index & 1]


def _is_as_before(container: Any, copy: Any) -> bool:
    if isinstance(container, dict):
        return [*container] == [*copy] and all(value is copy[key] for key, value in container.items())
    return len(container) == len(copy) and all(one is other for one, other in zip(container, copy))
