"""Immediate post-dominators, by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def post_dominators(
    successors: Sequence[tuple[int, ...]], predecessors: Mapping[int, list[int]], end: int
) -> dict[int, int]:
    """Node → the first node that every way from it to `end` comes to. Nodes that do not reach `end` are left out."""
    order = _postorder(predecessors, end)
    number = {node: index for index, node in enumerate(order)}
    above: dict[int, int] = {end: end}
    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            if node == end:
                continue
            new: int | None = None
            for other in successors[node]:
                if other in above and other in number:
                    new = other if new is None else _meet(new, other, above, number)
            if new is not None and above.get(node) != new:
                above[node] = new
                changed = True
    return above


def _postorder(predecessors: Mapping[int, list[int]], end: int) -> list[int]:
    """The nodes that reach `end`, in postorder of a walk against the edges."""
    order: list[int] = []
    seen = {end}
    stack: list[tuple[int, Iterator[int]]] = [(end, iter(predecessors.get(end, ())))]
    while stack:
        node, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(predecessors.get(following, ()))))
    return order


def _meet(a: int, b: int, above: Mapping[int, int], number: Mapping[int, int]) -> int:
    while a != b:
        while number[a] < number[b]:
            a = above[a]
        while number[b] < number[a]:
            b = above[b]
    return a
