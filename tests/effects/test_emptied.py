"""A container that each call empties before anything could tell what it held is scratch: `self.records.clear()`."""

from __future__ import annotations

import collections
import copy
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError

GLOBAL: list[Any] = []


class Keeps(nn.Module):
    def __init__(self, run: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.run = run
        self.list: list[Any] = []
        self.count, self.length = functools.partial(len, self.list), self.list.__len__
        self.by_key = operator.itemgetter(0)
        self.same = self.list
        self.nest = [self.list]
        self.dict: dict[Any, Any] = {}
        self.ordered: collections.OrderedDict[Any, Any] = collections.OrderedDict()
        self.set: set[Any] = set()
        self.deque: collections.deque[Any] = collections.deque(maxlen=4)

    def forward(self, x: Tensor) -> Any:
        return self.run(self, x)


def cleared_list(m: Any, x: Tensor) -> Any:
    m.list.clear()
    for i in range(3):
        m.list.append(x * i)
    return torch.stack(m.list).sum(0) + len(m.list)


def deleted_items(m: Any, x: Tensor) -> Any:
    del m.list[:]
    m.list += [x, x + 1]
    return m.list[-1] * m.list[0]


def assigned_items(m: Any, x: Tensor) -> Any:
    m.list[:] = [x, x * 2]
    m.list.append(x)
    return sum(m.list)


def cleared_under_another_name(m: Any, x: Tensor) -> Any:
    m.same.clear()
    m.list.append(x.sin())
    return m.nest[0][0] + len(m.same)


def cleared_dict(m: Any, x: Tensor) -> Any:
    m.dict.clear()
    m.dict["a"] = x + 1
    m.dict.setdefault("b", x * 3)
    return sum(m.dict.values()) * len(m.dict)


def cleared_ordered_dict(m: Any, x: Tensor) -> Any:
    m.ordered.clear()
    m.ordered["b"], m.ordered["a"] = x + 1, x * 3
    return next(iter(m.ordered.values())) - m.ordered["a"]


def cleared_set_and_deque(m: Any, x: Tensor) -> Any:
    m.set.clear()
    m.deque.clear()
    m.set.add("a")
    m.deque.extend([x, x + 1])
    return m.deque.popleft() * len(m.set) + len(m.deque)


def cleared_global(m: Any, x: Tensor) -> Any:
    GLOBAL.clear()
    GLOBAL.append(x.cos())
    return GLOBAL[0]


def cleared_by_the_class(m: Any, x: Tensor) -> Any:
    list.clear(m.list)
    m.list.append(x)
    return m.list[0]


TAKEN = [cleared_list, deleted_items, assigned_items, cleared_under_another_name, cleared_dict, cleared_ordered_dict,
         cleared_set_and_deque, cleared_global, cleared_by_the_class]  # fmt: skip


@pytest.mark.parametrize("run", TAKEN, ids=lambda run: run.__name__)
def test_scratch(run: Callable[..., Any]) -> None:
    GLOBAL[:] = []
    module = Keeps(run)
    trace = dynamo_lite.trace(module, (torch.randn(3),))
    assert not any(map(len, (module.list, module.dict, module.ordered, module.set, module.deque, GLOBAL)))
    program = trace.program.module()
    for _ in range(3):
        x = torch.randn(3)
        torch.testing.assert_close(program(x), module(x))
        assert trace.guards.check(module, (x,)) is None  # what it holds by now is no assumption


def length_first(m: Any, x: Tensor) -> Any:
    n = len(m.list)
    m.list.clear()
    m.list.append(x)
    return x * n


def truth_first(m: Any, x: Tensor) -> Any:
    y = x + 1 if m.list else x - 1
    m.list.clear()
    m.list.append(x)
    return y


def old_item(m: Any, x: Tensor) -> Any:
    y = m.list[0] if len(m.list) > 0 else x
    m.list.clear()
    m.list.append(x * 2)
    return y


def kept_copy(m: Any, x: Tensor) -> Any:
    before = list(m.list)
    m.list.clear()
    m.list.append(x)
    return sum(before, x)


def copied_with_the_nest(m: Any, x: Tensor) -> Any:
    before = copy.deepcopy(m.nest)
    m.list.clear()
    m.list.append(2)
    return x + sum(before[0])


def kept_by_a_generator(m: Any, x: Tensor) -> Any:
    def numbers() -> Iterator[Any]:
        yield from [len(m.list)]

    count = next(numbers())
    m.list.clear()
    m.list.append(1)
    return x * count


def compared_first(m: Any, x: Tensor) -> Any:
    y = x + 1 if m.nest == [[]] else x
    m.list.clear()
    m.list.append(3)
    return y


def written_text_first(m: Any, x: Tensor) -> Any:
    y = x * len(str(m.nest))
    m.list.clear()
    m.list.append(30)
    return y


def popped_first(m: Any, x: Tensor) -> Any:
    y = x + m.dict.pop("n", 0)
    m.dict.clear()
    m.dict["n"] = 5
    return y


def appended_first(m: Any, x: Tensor) -> Any:
    m.list.append(1)
    n = len(m.list)
    m.list.clear()
    m.list += [1, 1]
    return x * n


def by_a_partial(m: Any, x: Tensor) -> Any:
    y = x * m.count() + m.length()
    m.list.clear()
    m.list.append(3)
    return y


def by_an_object_in_c(m: Any, x: Tensor) -> Any:
    y = x + m.by_key(m.nest)[0] if len(m.by_key(m.nest)) else x
    m.list.clear()
    m.list.append(3)
    return y


def on_one_side(m: Any, x: Tensor) -> Any:
    if x.sum() > 0:
        m.list.clear()
    m.list.append(1)
    return x * len(m.list)


def emptied_namespace(m: Any, x: Tensor) -> Any:
    y = x * m.box.n
    vars(m.box).clear()
    m.box.n = 7
    return y


def returned(m: Any, x: Tensor) -> Any:
    m.list.clear()
    m.list.append(x)
    return m.list


READ = [length_first, truth_first, old_item, kept_copy, copied_with_the_nest, kept_by_a_generator, compared_first,
        written_text_first, popped_first, appended_first, by_a_partial, by_an_object_in_c, on_one_side,
        emptied_namespace]  # fmt: skip


@pytest.mark.parametrize("control_flow", ["refuse", "capture"])
@pytest.mark.parametrize("run", [*READ, returned], ids=lambda run: run.__name__)
def test_what_was_read_is_not_scratch(run: Callable[..., Any], control_flow: Any) -> None:
    """Refused, or equal to eager in each of three calls."""
    module = Keeps(run)
    module.box = type("Box", (), {})()
    module.box.n = 2
    try:
        program = dynamo_lite.export(module, (torch.rand(3),), control_flow=control_flow).module()
    except DynamoLiteError:
        return
    results = []
    for x in (torch.rand(3), -torch.rand(3), torch.rand(3)):
        results.append((program(x), module(x)))
    for got, want in results:  # after the calls: what they share is compared as well
        torch.testing.assert_close(got, want)
