"""Containers that functions of a library or the user take apart and make"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.export import Dim
from torch.fx._pytree import register_pytree_flatten_spec
from torch.utils import _pytree as pytree

from tests.export.probe import Case, equal, refused, t

CALLS = [0]
MADE: dict[str, Any] = {}


def register(cls: Any, flatten: Any, unflatten: Any, **options: Any) -> None:
    pytree.register_pytree_node(cls, flatten, unflatten, serialized_type_name=f"hostile.{cls.__name__}", **options)
    register_pytree_flatten_spec(cls, lambda value, spec: flatten(value)[0])


class Box:
    """Two tensors and a number."""

    def __init__(self, left: Any, right: Any, n: Any = 2) -> None:
        self.left = left
        self.right = right
        self.n = n


def parts(box: Any) -> Any:
    return [box.left, box.right], box.n


class Plain(Box): ...


class Copying(Box): ...


class Growing(Box): ...


class Counting(Box): ...


class Asking(Box): ...


class Changing(Box): ...


class Kept(Box): ...


class Packed(Box): ...


class Views(Box): ...


class Raising(Box): ...


class Writing(Box): ...


class Forgetting(Box): ...


class Deriving(Box): ...


class Swapping(Box): ...


class Keyed(Box): ...


class Lists(Box): ...


def grown(cls: Any, children: Any, n: Any) -> Any:
    """As a cache is made: by appending to nothing."""
    empty = torch.tensor([])
    return cls(torch.cat([empty, children[0]], dim=-1), torch.cat([empty, children[1]], dim=-1), n)


def counted(box: Any) -> Any:
    CALLS[0] += 1
    MADE[f"flattened {CALLS[0]}"] = CALLS[0]
    return parts(box)


def counted_back(children: Any, n: Any) -> Any:
    CALLS[0] += 1
    return Counting(*children, n)


def changing(box: Any) -> Any:
    box.touched = True
    box.n += 0
    return parts(box)


def kept_back(children: Any, n: Any) -> Any:
    box = MADE.setdefault("kept", Kept(None, None))
    box.left, box.right, box.n = *children, n
    return box


def raising(box: Any) -> Any:
    raise ValueError("flatten does not work")


def writing(box: Any) -> Any:
    box.left.add_(1)
    return parts(box)


def deriving(children: Any, n: Any) -> Any:
    box = Deriving(*children, n)
    box.twice = children[0] * 2
    box.length = children[0].shape[0]
    return box


def derived(n: int) -> Any:
    """As `deriving` makes it."""
    return deriving([t(n), t(n)], 2)


register(Plain, parts, lambda children, n: Plain(*children, n))
register(Copying, lambda b: ([b.left.clone(), b.right.clone()], b.n), lambda c, n: Copying(c[0] * 1, c[1] * 1, n))
register(Growing, parts, lambda children, n: grown(Growing, children, n))
register(Counting, counted, counted_back)


def asked(box: Any) -> Any:
    return [box.left, box.right], (box.n, torch.compiler.is_dynamo_compiling())


register(Asking, asked, lambda children, context: Asking(*children, context[0]))
register(Changing, changing, lambda children, n: Changing(*children, n))
register(Kept, parts, kept_back)
register(
    Packed,
    lambda b: ([torch.stack([b.left, b.right])], b.n),
    lambda children, n: Packed(*children[0].unbind(0), n),
)
register(Views, lambda b: ([b.left[:2], b.right[:2]], b.n), lambda c, n: Views(c[0][:], c[1].view(-1), n))
register(Raising, raising, lambda children, n: Raising(*children, n))
register(Writing, writing, lambda children, n: Writing(*children, n))
register(Forgetting, lambda b: ([b.left, b.right], None), lambda children, n: Forgetting(*children))
register(Deriving, parts, deriving)
register(Swapping, parts, lambda children, n: Swapping(children[1], children[0], n))
register(
    Keyed,
    parts,
    lambda children, n: Keyed(*children, n),
    flatten_with_keys_fn=lambda b: ([(pytree.GetAttrKey("left"), b.left), (pytree.GetAttrKey("right"), b.right)], b.n),
)
register(
    Lists,
    lambda b: ([list(b.left), {"right": b.right}], b.n),
    lambda c, n: Lists([torch.cat([torch.tensor([]), one]) for one in c[0]], c[1]["right"], n),
)


def product(box: Any) -> Any:
    return box.left * box.n + box.right


def of(cls: Any, program: Any = product, n: int = 3) -> Case:
    fresh = lambda: cls(t(n), t(n))  # noqa: E731
    return Case(program, (fresh(),), also=[((fresh(),), {}), ((fresh(),), {})])


@equal
def plain_functions():
    return of(Plain)


@equal
def functions_that_copy():
    return of(Copying)


@equal
def unflatten_appends_to_nothing():
    return of(Growing)


@equal
def unflatten_keeps_what_it_has_made():
    MADE.clear()
    return of(Kept)


@refused("container-function")
def unflatten_fills_an_object_that_was_there():
    MADE["kept"] = Kept(t(3), t(3))
    return of(Kept)


@equal
def one_tensor_holds_both():
    return of(Packed)


@equal
def functions_that_give_views():
    return of(Views, n=2)


@refused("container-function")
def flatten_raises():
    return of(Raising)


@refused("container-function")
def flatten_writes_to_a_tensor():
    return of(Writing)


@equal
def unflatten_forgets_what_nobody_reads():
    def f(box):
        return box.left - box.right

    return of(Forgetting, f)


@equal
def unflatten_has_the_default_that_was_given():
    return of(Forgetting)


@refused("container-state")
def unflatten_forgets_what_the_program_reads():
    def f(box):
        return box.left * box.n

    return f, (Forgetting(t(3), t(3), n=5),)


@refused("container-state")
def unflatten_lacks_an_attribute():
    def f(box):
        return box.left * box.scale

    box = Forgetting(t(3), t(3))
    box.scale = 4
    return f, (box,)


@refused("container-state")
def the_program_asks_whether_an_attribute_is_there():
    def f(box):
        return box.left * (4 if hasattr(box, "scale") else 1)

    box = Forgetting(t(3), t(3))
    box.scale = 4
    return f, (box,)


@refused("container-state")
def the_program_looks_at_all_attributes():
    def f(box):
        return box.left * len(vars(box))

    box = Forgetting(t(3), t(3))
    box.scale = 4
    return f, (box,)


@equal
def unflatten_derives_a_size():
    def f(box):
        return box.left * box.length + box.right

    return Case(f, (derived(3),), also=[((derived(3),), {})])


@refused("container-state")
def unflatten_swaps_the_parts():
    def f(box):
        return box.left * 2 + box.right

    return of(Swapping, f)


@equal
def functions_with_keys():
    return of(Keyed)


@equal
def lists_in_a_container():
    def f(box):
        return sum(box.left) + box.right

    def fresh():
        return Lists([t(2), t(2), t(2)], t(2))

    return Case(f, (fresh(),), also=[((fresh(),), {})])


@equal
def containers_as_results():
    def f(x):
        return Growing(x + 1, x * 2, 7), Copying(x.sin(), x.cos())

    return f, (t(3),)


@refused("container-function")
def flatten_of_a_result_raises():
    def f(x):
        return Raising(x, x)

    return f, (t(3),)


@equal
def in_and_out_again():
    def f(box):
        return Growing(box.left + 1, torch.cat([box.right, box.left]), box.n)

    return of(Growing, f)


@equal
def changed_and_returned():
    def f(box):
        box.left = box.left + 1
        return box

    case = of(Plain, f)
    case.returned = True
    return case


@refused("input-container")
def changed_and_not_returned():
    def f(box):
        box.left = box.left + 1
        return box.left * 2

    return of(Growing, f)


@refused("input-container")
def packed_and_changed():
    def f(box):
        box.left = box.left + 1
        return box.left * 2

    return of(Packed, f)


@equal
def a_tensor_of_it_is_changed_in_place():
    def f(box):
        box.left.add_(1)
        return box.left * 2

    return of(Plain, f)


@equal
def a_tensor_that_was_appended_is_changed_in_place():
    def f(box):
        box.left.mul_(2)
        return box.left + box.right

    return of(Growing, f)


@refused("container-mutated")
def a_copy_is_changed_in_place():
    def f(box):
        box.left.mul_(2)
        return box.left + box.right

    return of(Copying, f)


@refused("container-mutated")
def a_packed_tensor_is_changed_in_place():
    def f(box):
        box.left.mul_(2)
        return box.left + box.right

    return of(Packed, f)


@refused("container-mutated")
def a_derived_tensor_is_changed_in_place():
    def f(box):
        box.twice.mul_(2)
        return box.left + box.twice

    return f, (derived(3),)


@equal
def the_same_container_twice():
    def f(one, other):
        return product(one) + product(other)

    box = Growing(t(3), t(3))
    return f, (box, box)


@equal
def the_same_tensor_twice_in_one():
    x = t(3)
    return product, (Growing(x, x),)


@equal
def containers_in_containers():
    def f(box):
        return product(box.left) + product(box.right[0])

    def fresh():
        return Plain(Growing(t(3), t(3)), [Copying(t(3), t(3)), None])

    return Case(f, (fresh(),), also=[((fresh(),), {})])


@equal
def layout_of_what_was_appended():
    def f(box):
        return box.left + 1 if box.left.is_contiguous() else box.left - 1

    return f, (Growing(t(3, 4).t(), t(3)),)


@equal
def sizes_of_a_container_vary():
    def f(box):
        return torch.cat([box.left, box.right]) * box.left.shape[0]

    n, m = Dim("n", min=1, max=40), Dim("m", min=1, max=40)
    args = lambda a, b: ((Growing(t(a), t(b)),), {})  # noqa: E731
    return Case(f, *args(3, 4), dynamic_shapes=([{0: n}, {0: m}],), also=[args(7, 2), args(1, 1), args(2, 9)])


@equal
def sizes_of_a_packed_container_vary():
    n = Dim("n", min=1, max=40)
    args = lambda a: ((Packed(t(a), t(a)),), {})  # noqa: E731
    return Case(product, *args(3), dynamic_shapes=([{1: n}],), also=[args(7), args(1)])


@equal
def a_derived_size_varies():
    def f(box):
        return box.left * box.length

    n = Dim("n", min=1, max=40)
    args = lambda a: ((derived(a),), {})  # noqa: E731
    return Case(f, *args(3), dynamic_shapes=([{0: n}, {0: n}],), also=[args(5), args(8)])


@equal
def state_beside_a_container():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, box):
            self.total = self.total + box.left
            return Growing(self.total + 1, box.right * 2, box.n)

    return of(Growing, Module())


@equal
def set_up_on_the_first_call():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.ready = False

        def forward(self, box):
            if not self.ready:
                self.ready = True
            return Growing(product(box), box.left * 2)

    return of(Growing, Module())


@equal
def the_program_takes_it_apart_itself():
    def f(box):
        leaves, spec = pytree.tree_flatten(box)
        return pytree.tree_unflatten([leaf * 2 for leaf in leaves], spec)

    return of(Growing, f)


@equal
def gradients_through_a_container():
    fresh = lambda: Growing(t(3, requires_grad=True), t(3))  # noqa: E731
    return Case(product, (fresh(),), also=[((fresh(),), {})])


class Point(NamedTuple):
    x: Any
    y: Any = None
    scale: int = 3

    def value(self) -> Any:
        return self.x * self.scale if self.y is None else self.x * self.scale + self.y


class Named(Point):
    def value(self) -> Any:
        return super().value() * 2


@equal
def flatten_asks_whether_this_is_an_export():
    """Each call takes the arguments apart outside of one: the program would not take its own example."""
    return of(Asking, product)
