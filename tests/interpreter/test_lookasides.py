"""C functions that call Python back: same result as native, and what they call back is interpreted."""

from __future__ import annotations

import bisect
import builtins
import collections
import contextlib
import contextvars
import copy
import dataclasses
import enum
import functools
import heapq
import io
import itertools
import operator
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from dynamo_lite.interpreter import Interpreter, Observer, interpret
from tests.interpreter.hermetic import check
from tests.webassembly import needs_threads

PROGRAMS: list[Callable[[], Any]] = []


def program(fn: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS.append(fn)
    return fn


class Item:
    """Ordered, hashed and shown by Python code; made outside the interpreted program."""

    def __init__(self, key: int) -> None:
        self.key = key

    def __lt__(self, other: Item) -> bool:
        return self.key < other.key

    def __gt__(self, other: Item) -> bool:
        return self.key > other.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and self.key == other.key

    def __hash__(self) -> int:
        return self.key % 3

    def __add__(self, other: Any) -> Item:
        return Item(self.key + getattr(other, "key", other))

    __radd__ = __add__

    def __bool__(self) -> bool:
        return self.key > 0

    def __repr__(self) -> str:
        return f"I{self.key}"

    def __str__(self) -> str:
        return f"item {self.key}"


OUTSIDE = [Item(3), Item(1), Item(2)]
TABLE = {Item(1): "one", Item(4): "four"}


def _outside(x: Any) -> Any:
    return Item(x) if isinstance(x, int) else x.key


MAPPED = map(_outside, [5, 6])
PARTIAL = functools.partial(_outside, 7)


class Cached:
    @functools.cached_property
    def value(self) -> int:
        return 42

    @functools.lru_cache(maxsize=None)  # noqa: B019, UP033
    def squared(self, x: int) -> int:
        return x * x


@program
def sorting() -> Any:
    listed = list(OUTSIDE)
    listed.sort(reverse=True)
    by_key = sorted(OUTSIDE, key=lambda item: -item.key)
    lazily = sorted(item for item in OUTSIDE)
    compared = sorted(OUTSIDE, key=functools.cmp_to_key(lambda a, b: b.key - a.key))
    return repr([sorted(OUTSIDE), listed, by_key, lazily, compared, sorted({3: 1, 2: 1}.items(), key=lambda kv: kv[1])])


@program
def reductions() -> Any:
    return repr([
        min(OUTSIDE), max(iter(OUTSIDE)), max(OUTSIDE, key=lambda i: -i.key), sum(OUTSIDE), min(Item(1), Item(0)),
        any(Item(k) for k in (0, 1)), all(map(Item, (1, 0))), functools.reduce(lambda a, b: a + b, iter(OUTSIDE)),
        functools.reduce(operator.add, OUTSIDE, 5), max([], default="none"),
    ])  # fmt: skip


@program
def lazy_iterators() -> Any:
    log: list[int] = []

    def seen(x: int) -> int:
        log.append(x)
        return x

    mapped = map(seen, [1, 2, 3])
    first = next(mapped)
    kept = (first, list(log), isinstance(mapped, map), next(MAPPED).key > 4, PARTIAL().key)
    return (
        kept, list(filter(lambda x: x > 1, mapped)), list(zip(map(seen, [7]), [8])),
        list(enumerate(map(seen, "ab"), 1)), list(iter(lambda: log.pop(), 1)), list(reversed([1, 2])),
        next(iter([]), "end"), log,
    )  # fmt: skip


@program
def itertools_with_functions() -> Any:
    def odd(x: int) -> bool:
        return x % 2 == 1

    return [
        list(itertools.takewhile(odd, [1, 3, 4])), list(itertools.dropwhile(odd, [1, 4, 5])),
        list(itertools.accumulate([1, 2, 3], lambda a, b: a * b)),
        list(itertools.starmap(lambda a, b: a - b, [(3, 1)])),
        [(key, list(group)) for key, group in itertools.groupby([1, 3, 4], key=odd)],
        list(itertools.filterfalse(odd, range(4))), list(itertools.chain.from_iterable(map(range, (1, 2)))),
        list(itertools.islice(map(odd, itertools.count()), 3)), list(itertools.zip_longest(map(odd, [1]), "ab")),
        [list(copy) for copy in itertools.tee(map(odd, [1, 2]))], list(itertools.product(map(odd, [1]), [0])),
        list(itertools.permutations(map(odd, [1, 2]))), list(itertools.pairwise(map(odd, [1, 2]))),
    ]  # fmt: skip


@program
def dicts_and_sets_with_user_keys() -> Any:
    table = dict(TABLE)
    table.setdefault(Item(4), "again")
    table.update({Item(7): "seven"})
    union = {Item(1)} | {Item(4), Item(1)}
    counts = collections.Counter([Item(1), Item(1), Item(4)])
    groups: Any = collections.defaultdict(lambda: [Item(0)])
    groups["a"].append(1)
    return (
        TABLE[Item(1)], Item(4) in TABLE, TABLE.get(Item(10)), table.pop(Item(1)), len(table), len(union),
        {Item(1), Item(4)} - {Item(4)} == {Item(1)}, {Item(1)} <= union, frozenset([Item(1)]).isdisjoint([Item(4)]),
        counts[Item(1)], repr(groups["a"]), dict.fromkeys([Item(1), Item(1)], 0), set(iter(OUTSIDE)) == set(OUTSIDE),
        {**TABLE, Item(1): 2}[Item(1)], collections.OrderedDict([(Item(1), 2)])[Item(1)],
    )  # fmt: skip


@program
def lists_with_user_elements() -> Any:
    queue = collections.deque(OUTSIDE)
    queue.remove(Item(1))
    heap: list[Item] = []
    for item in OUTSIDE:
        heapq.heappush(heap, item)
    return repr([
        OUTSIDE.index(Item(2)), OUTSIDE.count(Item(1)), Item(2) in OUTSIDE, [Item(3), Item(1), Item(2)] == OUTSIDE,
        list(queue), heapq.heappop(heap), heapq.nsmallest(1, OUTSIDE, key=lambda i: -i.key), [Item(4)] > OUTSIDE,
        bisect.bisect([Item(1), Item(3)], Item(2)), bisect.bisect_left([1, 3], 2, key=lambda x: x), max(queue),
    ])  # fmt: skip


@program
def containers_over_user_iterables() -> Any:
    class Pairs:
        def __iter__(self) -> Iterator[tuple[str, int]]:
            yield "a", 1
            yield "b", 2

        def __len__(self) -> int:
            return 2

    class Keyed:
        def keys(self) -> list[str]:
            return ["k"]

        def __getitem__(self, key: str) -> str:
            return key + "!"

    listed: list[Any] = []
    listed.extend(Pairs())
    listed += Pairs()
    listed[:1] = Pairs()
    table: dict[Any, Any] = {}
    table.update(Keyed())
    return listed, tuple(Pairs()), set(Pairs()), dict(Pairs()), dict(Keyed()), table, "-".join(k for k, _ in Pairs())


@program
def text() -> Any:
    out = io.StringIO()
    print(Item(1), [Item(2)], file=out)

    class Sink:
        lines: list[str] = []

        def write(self, line: str) -> None:
            self.lines.append(line)

    print("to", Item(3), file=Sink(), end=".")  # type: ignore[arg-type]
    with contextlib.redirect_stdout(Sink()):  # type: ignore[type-var]
        print("redirected")
    return out.getvalue(), Sink.lines, "%s %r" % (Item(1), (Item(2),)), "{} {!r}".format(Item(1), Item(2)), ascii(Item(1))  # noqa: UP031, UP032, E501


@program
def operator_getters() -> Any:
    class Node:
        def __getattr__(self, name: str) -> Any:
            return Node() if name == "child" else name

        def __getitem__(self, key: Any) -> Any:
            return (key,)

        def method(self, *args: Any, **kwargs: Any) -> Any:
            return args, kwargs

    return (
        operator.attrgetter("child.a", "b")(Node()), operator.itemgetter(1, 2)(Node()), operator.itemgetter(1)(Node()),
        operator.methodcaller("method", 1, k=2)(Node()), operator.methodcaller("method")(Node()),
        list(map(operator.attrgetter("x"), [Node()])), operator.add(Item(1), Item(2)).key, operator.truth(Item(0)),
        operator.contains(OUTSIDE, Item(1)), operator.getitem(Node(), 3), operator.index(True),
    )  # fmt: skip


@program
def functools_helpers() -> Any:
    calls: list[int] = []

    @functools.lru_cache(maxsize=2)
    def square(x: int) -> int:
        calls.append(x)
        return x * x

    @functools.singledispatch
    def kind(x: Any) -> str:
        return "other"

    @kind.register
    def _(x: int) -> str:
        return "int"

    @kind.register(list)
    def _(x: Any) -> str:
        return "list"

    @functools.total_ordering
    class Version:
        def __init__(self, n: int) -> None:
            self.n = n

        def __lt__(self, other: Any) -> bool:
            return self.n < other.n

    @functools.wraps(square)
    def wrapper() -> None: ...

    cached = Cached()
    return (
        square(2), square(2), calls, square.cache_info(), kind(1), kind([]), kind(""), Version(1) <= Version(2),
        Version(2) >= Version(1), wrapper.__name__, cached.value, cached.value, cached.squared(3), cached.squared(3),
        functools.partial(lambda *a, **k: (a, k), 1, a=2)(3, b=4),
        functools.partialmethod(Item.__add__).__get__(Item(1))(2).key,
    )  # fmt: skip


class Point:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __deepcopy__(self, memo: Any) -> Point:
        return Point(copy.deepcopy(self.x, memo))

    def __copy__(self) -> Point:
        return Point("copied")


class Stateful:
    def __init__(self) -> None:
        self.a = [1]

    def __getstate__(self) -> Any:
        return {"a": self.a, "saved": True}

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)


class Reduced:
    def __init__(self, n: int) -> None:
        self.n = n

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Reduced, (self.n + 1,)


@program
def copying() -> Any:
    points = copy.deepcopy([Point([1]), {"k": Point(2)}])
    copied = copy.copy(Point(0)).x, vars(copy.deepcopy(Stateful())), copy.copy(Reduced(1)).n
    return points[0].x, points[1]["k"].x, copied


@program
def contexts() -> Any:
    log: list[Any] = []

    @contextlib.contextmanager
    def managed(name: str) -> Iterator[str]:
        log.append(("enter", name))
        try:
            yield name
        except KeyError:
            log.append("handled")
        finally:
            log.append(("exit", name))

    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    def change() -> int:
        variable.set(5)
        return variable.get()

    with contextlib.ExitStack() as stack:
        stack.enter_context(managed("a"))
        stack.callback(log.append, "callback")
        stack.push(lambda *error: log.append("pushed") or True)
        with managed("b"):
            raise KeyError
    with threading.Lock(), contextlib.suppress(ValueError):
        raise ValueError
    return log, contextvars.copy_context().run(change), variable.get()


@dataclasses.dataclass(order=True)
class Shape:
    width: int
    sides: list[int] = dataclasses.field(default_factory=lambda: [1])

    def __post_init__(self) -> None:
        self.area = self.width * 2


class Colour(enum.Enum):
    RED = 1
    GREEN = 2

    @property
    def lower(self) -> str:
        return self.name.lower()

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.RED


class Pair(NamedTuple):
    a: int
    b: int = 2

    def total(self) -> int:
        return self.a + self.b


@program
def dataclasses_enums_namedtuples() -> Any:
    @dataclasses.dataclass(frozen=True)
    class Local:
        x: int

    class Flags(enum.Flag):
        A = enum.auto()
        B = enum.auto()

    shapes = sorted([Shape(2), Shape(1)])
    Coordinates = collections.namedtuple("Coordinates", "x y")
    return (
        repr(shapes), Shape(1) == Shape(1), dataclasses.replace(Shape(3), width=4).area, dataclasses.asdict(Shape(5)),
        Local(1) == Local(1), hash(Local(1)) == hash(Local(1)), Colour(7).lower, Colour["GREEN"].value, list(Colour),
        repr(Flags.A | Flags.B), Pair(1).total(), Pair(1)._replace(b=5), Coordinates(1, 2)._asdict(),
    )  # fmt: skip


@program
def iterators_by_hand() -> Any:
    class Sequence:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, i: int) -> int:
            if i >= 3:
                raise IndexError(i)
            return i

    def generator() -> Iterator[int]:
        received = yield 1
        yield received or 0

    g = generator()
    sent = next(g), g.send(9), next(g, "done")
    return list(reversed(Sequence())), sent, list(zip(*[iter(Sequence())] * 2)), 2 in Sequence()


@program
def dynamic_classes() -> Any:
    class Base:
        found: list[str] = []

        def __init_subclass__(cls, **kwargs: Any) -> None:
            Base.found.append(cls.__name__)

    made = type("Made", (Base,), {"method": lambda self: "called", "value": property(lambda self: 3)})
    named = types.new_class("Named", (Base,), {}, lambda ns: ns.update(x=1))
    return made().method(), made().value, made.__module__, Base.found, named.x


@program
def weak_references() -> Any:
    log: list[str] = []
    item = Cached()
    reference = weakref.ref(item, lambda _: log.append("gone"))
    proxy = weakref.proxy(item)
    value = proxy.value
    table = weakref.WeakKeyDictionary({item: 1})
    finalizer = weakref.finalize(item, log.append, "finalized")

    class Dying:
        def __del__(self) -> None:
            log.append("deleted")

    dying = Dying()
    seen = reference() is item, value, len(table), table[item], finalizer.alive
    del item, dying
    return seen, log, reference() is None, len(table)


@program
def builtins_replaced_by_the_program() -> Any:
    before = builtins.len, builtins.isinstance
    try:
        builtins.len = lambda x: 7
        builtins.isinstance = lambda x, cls: cls  # type: ignore[assignment]
        return len([]), isinstance(3, str), [x for x in (1, 2) if len("")]
    finally:
        builtins.len, builtins.isinstance = before


@program
def errors_from_c_functions() -> Any:
    messages = []
    attempts: list[Callable[[], Any]] = [
        lambda: sorted(3), lambda: min(), lambda: max([]), lambda: sum(["a"]),
        lambda: functools.reduce(operator.add, []),
        lambda: getattr(3), lambda: getattr(3, 4), lambda: hasattr(1), lambda: isinstance(1, 2), lambda: next(3),
        lambda: set(3), lambda: setattr(1, "a", 2), lambda: {}[[]], lambda: [].index(1), lambda: any(3),
    ]  # type: ignore  # fmt: skip
    for attempt in attempts:
        try:
            attempt()
        except Exception as error:
            messages.append((type(error).__name__, str(error)))
    return messages


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_same_result_and_hermetic(fn: Callable[[], Any]) -> None:
    check(fn)


@needs_threads
def test_a_thread_started_by_the_program_is_interpreted() -> None:
    results: list[int] = []

    def work(n: int) -> None:
        results.append(n * 2)

    def start() -> None:
        thread = threading.Thread(target=work, args=(4,))
        thread.start()
        thread.join()

    interpret(start)
    assert results == [8]


class Reads(Observer):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_read(self, kind: str, owner: Any, key: Any, value: Any) -> Any:
        if isinstance(owner, (Item, dict, list)):
            self.seen.append((kind, key))
        return value

    def before_write(self, kind: str, owner: Any, key: Any, value: Any) -> None:
        if isinstance(owner, (Item, dict, list)):
            self.seen.append(("write " + kind, key))


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda item: getattr(item, "key"), ("attr", "key")),  # noqa: B009
        (lambda item: hasattr(item, "key"), ("attr", "key")),
        (lambda item: operator.attrgetter("key")(item), ("attr", "key")),
        (lambda item: object.__getattribute__(item, "key"), ("attr", "key")),
        (lambda item: setattr(item, "key", 3), ("write attr", "key")),
        (lambda item: object.__setattr__(item, "key", 3), ("write attr", "key")),
        (lambda item: operator.itemgetter(0)([item]), ("item", 0)),
        (lambda item: operator.getitem({"a": 1}, "a"), ("item", "a")),
        (lambda item: operator.setitem({"a": 1}, "a", 2), ("write item", "a")),
        (lambda item: operator.delitem({"a": 1}, "a"), ("write item", "a")),
        (lambda item: sorted([item], key=lambda i: i.key), ("attr", "key")),
    ],
)
def test_the_observer_sees_reads_and_writes_through_c_functions(use: Callable[[Any], Any], expected: Any) -> None:
    observer = Reads()
    Interpreter(observer).enter(use, (Item(1),), {})
    assert expected in observer.seen
