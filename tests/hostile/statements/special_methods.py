"""Statements that use classes which keep a log of the calls of their special methods: called as often as by CPython."""

HEADER = '''
import dataclasses, math
import torch
from torch import nn


def _telling(*names):
    """A class decorator: each of these methods adds to the log of its instance when it is called."""

    def decorate(cls):
        for number, name in enumerate(names):
            setattr(cls, name, _told(getattr(cls, name), number + 1))
        return cls

    return decorate


def _told(method, number):
    def call(self, *args):
        self.log.append(number)
        return method(self, *args)

    call.__name__ = method.__name__
    return call


class _Hashed:
    def __init__(self, n, log):
        self.n, self.log = n, log

    def __hash__(self):
        return self.n % 2

    def __eq__(self, other):
        return self.n == getattr(other, "n", other)

    def __ne__(self, other):
        return self.n != getattr(other, "n", other)

    def __bool__(self):
        return self.n > 1

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter(range(self.n))

    def __contains__(self, item):
        return item == self.n

    def __getitem__(self, index):
        return range(self.n)[index]

    def __lt__(self, other):
        return self.n < other.n

    def __repr__(self):
        return "told"

    def __index__(self):
        return self.n

    def __call__(self, *args):
        return self.n

    def __add__(self, other):
        return self.n + getattr(other, "n", other)


_ALL = ("__hash__", "__eq__", "__ne__", "__bool__", "__len__", "__iter__", "__contains__", "__getitem__", "__lt__")


@_telling(*_ALL, "__repr__", "__index__", "__call__", "__add__")
class Told(_Hashed):
    pass


class ToldInt(int):
    log = None

    def __hash__(self):
        if self.log is not None: self.log.append(3)
        return 5

    def __eq__(self, other):
        if self.log is not None: self.log.append(4)
        return int(self) == other

    def __bool__(self):
        if self.log is not None: self.log.append(5)
        return int(self) != 0


class ToldStr(str):
    log = None

    def __hash__(self):
        if self.log is not None: self.log.append(3)
        return str.__hash__(self)

    def __eq__(self, other):
        if self.log is not None: self.log.append(4)
        return str.__eq__(self, other)

    def __len__(self):
        if self.log is not None: self.log.append(5)
        return str.__len__(self)


class ToldList(list):
    log = None

    def __eq__(self, other):
        if self.log is not None: self.log.append(4)
        return list.__eq__(self, other)

    def __len__(self):
        if self.log is not None: self.log.append(5)
        return list.__len__(self)

    def __iter__(self):
        if self.log is not None: self.log.append(6)
        return list.__iter__(self)

    def __contains__(self, item):
        if self.log is not None: self.log.append(7)
        return list.__contains__(self, item)


class ToldDict(dict):
    log = None

    def __eq__(self, other):
        if self.log is not None: self.log.append(4)
        return dict.__eq__(self, other)

    def __len__(self):
        if self.log is not None: self.log.append(5)
        return dict.__len__(self)

    def __iter__(self):
        if self.log is not None: self.log.append(6)
        return dict.__iter__(self)

    def __getitem__(self, key):
        if self.log is not None: self.log.append(7)
        return dict.__getitem__(self, key)

    def keys(self):
        if self.log is not None: self.log.append(8)
        return dict.keys(self)

    def items(self):
        if self.log is not None: self.log.append(9)
        return dict.items(self)


class ToldError(Exception):
    log = None

    def __bool__(self):
        if self.log is not None: self.log.append(4)
        return True

    def __eq__(self, other):
        if self.log is not None: self.log.append(5)
        return self is other

    def __hash__(self):
        if self.log is not None: self.log.append(6)
        return 1


class Meta(type):
    log = None

    def __hash__(cls):
        if Meta.log is not None: Meta.log.append(4)
        return 7

    def __eq__(cls, other):
        if Meta.log is not None: Meta.log.append(5)
        return cls is other

    def __instancecheck__(cls, value):
        if Meta.log is not None: Meta.log.append(6)
        return type(value).__name__ == "OfMeta"

    def __subclasscheck__(cls, value):
        if Meta.log is not None: Meta.log.append(7)
        return True

    def __bool__(cls):
        if Meta.log is not None: Meta.log.append(8)
        return True


class OfMeta(metaclass=Meta):
    n = 2


class ToldSub(nn.Module):
    log = None

    def forward(self, v):
        return v * 2

    def __bool__(self):
        if self.log is not None: self.log.append(3)
        return True

    def __len__(self):
        if self.log is not None: self.log.append(4)
        return 2

    def __eq__(self, other):
        if self.log is not None: self.log.append(5)
        return self is other

    def __hash__(self):
        if self.log is not None: self.log.append(6)
        return 1


def of(kind, value, log):
    made = kind(value)
    made.log = log
    return made
'''

INIT = """\
self.told, self.telling, self.names = Told(2, []), ToldSub(), ToldDict(a=1, b=2)"""

_LINES = """\
t = {Told(1, log): 1, Told(3, log): 2}; z = z + t.get(Told(3, log)) + sum(log)
t = {Told(1, log): 1}; t[Told(3, log)] = 4; z = z + t[Told(1, log)] + sum(log)
t = {Told(i, log): i for i in range(4)}; z = z + (Told(2, log) in t) + sum(log)
s = {Told(1, log), Told(3, log)}; s.add(Told(5, log)); s.discard(Told(1, log)); z = z + len(s) + sum(log)
s = {Told(1, log)} | {Told(3, log)}; z = z + len(s & {Told(3, log)}) + sum(log)
t = dict.fromkeys([Told(1, log), Told(3, log)], 2); t.pop(Told(3, log)); z = z + len(t) + sum(log)
t = {Told(1, log): 1}; t.setdefault(Told(3, log), k); t.update({Told(5, log): 1}); z = z + sum(log)
t = {Told(1, log): 1, Told(3, log): 2}; z = z + sum(v for v in t.values()) + sum(log)
t = {Told(1, log): 1, Told(3, log): 2}; u = dict(t); v = {**t}; z = z + (t == u) + len(v) + sum(log)
t = {Told(1, log): z, Told(3, log): z * 2}; u = dict(t); z = z + u[Told(3, log)] + sum(log)
t = collections.OrderedDict({Told(1, log): 1}); t[Told(3, log)] = 1; t.move_to_end(Told(1, log)); z = z + sum(log)
t = collections.Counter([Told(1, log), Told(3, log), Told(1, log)]); z = z + t[Told(1, log)] + sum(log)
t = collections.defaultdict(int); t[Told(1, log)] += 1; t[Told(3, log)] += 2; z = z + sum(log)
t = types.MappingProxyType({Told(1, log): 2}); z = z + t[Told(1, log)] + sum(log)
t = collections.ChainMap({Told(1, log): 2}, {Told(3, log): 1}); z = z + t[Told(3, log)] + sum(log)
t = weakref.WeakKeyDictionary(); o = Told(1, log); t[o] = 2; z = z + t[o] + sum(log)
t = frozenset([Told(1, log), Told(3, log)]); z = z + (t == {Told(1, log), Told(3, log)}) + sum(log)
z = z + hash((Told(1, log), 1)) % 3 + hash(Told(1, log)) + sum(log)
xs = [Told(1, log), Told(2, log)]; z = z + xs.index(Told(2, log)) + xs.count(Told(1, log)) + sum(log)
xs = [Told(1, log), Told(2, log)]; xs.remove(Told(2, log)); z = z + (Told(1, log) in xs) + sum(log)
z = z + ([Told(1, log)] == [Told(1, log)]) + ((Told(1, log), 2) != (Told(1, log), 2)) + sum(log)
z = z + len(sorted([Told(2, log), Told(1, log)])) + max(Told(2, log), Told(3, log)).n + sum(log)
z = z + (1 if Told(k % 3, log) else 2) + (not Told(1, log)) + bool(Told(2, log)) + sum(log)
z = z + (Told(1, log) or Told(2, log)).n + (Told(2, log) and Told(1, log)).n + sum(log)
z = z + all([Told(2, log), Told(1, log)]) + any([Told(1, log), Told(2, log)]) + sum(log)
z = z + len([v for v in filter(None, [Told(1, log), Told(2, log)])]) + sum(log)
z = z + len(Told(2, log)) + sum(Told(3, log)) + len([*Told(2, log)]) + (2 in Told(2, log)) + sum(log)
z = z + len(list(Told(2, log))) + len(tuple(Told(3, log))) + len(list(enumerate(Told(2, log)))) + sum(log)
a, b = Told(2, log); z = z + a + b + Told(3, log)[1] + sum(log)
z = z + len(list(zip(Told(2, log), Told(3, log)))) + len(list(map(abs, Told(2, log)))) + sum(log)
z = z + [4, 5, 6][Told(1, log)] + operator.index(Told(2, log)) + len(range(Told(2, log))) + sum(log)
z = z + Told(1, log)() + (Told(1, log) + 1) + (Told(1, log) + Told(2, log)) + sum(log)
z = z + len(repr(Told(1, log))) + len(f"{Told(1, log)}") + len("%r" % Told(1, log)) + sum(log)
z = z + len(repr([Told(1, log)])) + len(str({1: Told(1, log)})) + sum(log)
o = Told(2, log); z = z + functools.reduce(lambda a, b: a + b, o) + sum(log)
o = Told(2, log); q = copy.copy(o); q.n = 3; z = z + q.n + (o is not q) + sum(log)
o = Told(2, log); q = copy.deepcopy([o]); z = z + q[0].n + len(q[0].log) + sum(log)
f = functools.lru_cache(lambda o: o.n); z = z + f(Told(1, log)) + f(Told(3, log)) + f(Told(1, log)) + sum(log)
f = functools.partial(lambda o, n: o.n + n, Told(1, log)); z = z + f(2) + sum(log)
vs.append(z); o = Told(2, log); xs = [v * o.n for v in vs]; z = z + sum(xs) + sum(log)
o = Told(2, log); q = o if z.sum() > 0 else o; z = z + q.n + sum(log)
o, q = Told(1, log), Told(1, log); p = (o if z.sum() > 0 else q).n; z = z + p + sum(log)
t = {Told(1, log): 1}; t.get(Told(3, log) if z.sum() > 0 else Told(1, log)); z = z + sum(log)
o = Told(1, log); o.kept = z * 2 if z.sum() > 0 else z; z = z + o.kept + sum(log)
xs = [Told(1, log)]; xs[0] = Told(1, log) if z.sum() > 0 else xs[0]; z = z + sum(log)
t = {"a": Told(1, log)}; u = z * 2 if z.sum() > 0 else z * 3; z = z + u + t["a"].n + sum(log)
xs = (Told(1, log), Told(2, log)); z = z + (z * xs[0].n if z.sum() > 0 else z * xs[1].n) + sum(log)
o = of(ToldInt, 2, log); t = {o: 1, 4: 2}; z = z + o + t[o] + sum(log)
o = of(ToldInt, 2, log); z = z * o + z[:, o - 1:].sum() + torch.zeros(o).sum() + sum(log)
o = of(ToldInt, 2, log); z = z.sum(0).expand(o, 3) + (1 if o else 2) + (o == 2) + sum(log)
o = of(ToldInt, 2, log); z = torch.full((2, 3), o) + z + math.sqrt(o) + sum(log)
o = of(ToldStr, "n", log); setattr(self.box, o, 3); z = z + getattr(self.box, o) + sum(log)
o = of(ToldStr, "a", log); t = {o: 1, "b": 2}; z = z + t["a"] + t[o] + len(o) + (o == "a") + sum(log)
o = of(ToldStr, "a", log); z = z + self.d[o] + (o in self.d) + ("ab".find(o)) + len(f"{o}") + sum(log)
o = of(ToldStr, "a", log); t = {}; t[o] = z; z = z + len(dict(**t)) + sum(log)
o = of(ToldList, [1, 2], log); z = z + len(o) + sum(o) + (1 in o) + (o == [1, 2]) + bool(o) + sum(log)
o = of(ToldList, [z, z], log); z = torch.stack(o).sum(0) + len([*o]) + sum(log)
o = of(ToldList, [1, 2], log); o.append(3); o.extend([1]); z = z + o[0] + len(list(o)) + len(tuple(o)) + sum(log)
o = of(ToldList, [2, 3], log); z = z.reshape(o) + torch.zeros(o) + sum(log)
o = of(ToldDict, {"a": 1, "b": z}, log); z = z + o["a"] + o["b"] + len(o) + ("a" in o) + sum(log)
o = of(ToldDict, {"a": 1, "b": 2}, log); z = z + len([*o]) + len({**o}) + len(dict(o)) + len(o.items()) + sum(log)
o = of(ToldDict, {"a": 1}, log); f = lambda **kw: len(kw); z = z + f(**o) + (o == {"a": 1}) + bool(o) + sum(log)
self.names.log = log; z = z + len(self.names) + self.names["a"] + len([*self.names]) + sum(log)
self.names.log = log; self.names["c"] = 1; z = z + len({**self.names}) + sum(log)
self.told.log = log; self.told.n = 3; z = z + (self.told == Told(3, log)) + sum(log)
self.told.log = log; self.told.n = 2; t = {self.told: 1}; z = z + t[self.told] + (1 if self.told else 2) + sum(log)
self.told.log = log; self.last = self.told; z = z + (self.last is self.told) + sum(log)
self.telling.log = log; z = self.telling(z) + (1 if self.telling else 2) + sum(log)
self.telling.log = log; z = self.telling(z) + len({self.telling: 1}) + (self.telling == self.sub) + sum(log)
self.telling.log = log; self.telling.train(); z = self.telling(z) + len(list(self.modules())) + sum(log)
self.telling.log = log; z = nn.Sequential(self.telling, self.sub)(z) + sum(log)
Meta.log = log; z = z + OfMeta().n + isinstance(k, OfMeta) + isinstance(OfMeta(), OfMeta) + sum(log); Meta.log = None
Meta.log = log; z = z + {OfMeta: 1}[OfMeta] + (OfMeta == int) + issubclass(int, OfMeta) + sum(log); Meta.log = None
Meta.log = log; z = z + (1 if OfMeta else 2) + len({OfMeta, int}) + OfMeta.n + sum(log); Meta.log = None
Meta.log = log; o = OfMeta(); o.v = z; z = z + o.v + len(repr(type(o))) % 3 + sum(log); Meta.log = None
e = of(ToldError, 1, log); z = z + (1 if e else 2) + len({e: 1}) + (e == 1) + sum(log)
Z = dataclasses.make_dataclass("Z", ["a", "b"]); z = z + (Z(Told(1, log), 2) == Z(Told(1, log), 2)) + sum(log)
N = collections.namedtuple("N", "a b"); z = z + (N(Told(1, log), 2) == N(Told(1, log), 2)) + sum(log)
q = collections.deque([Told(1, log), Told(2, log)]); z = z + (Told(2, log) in q) + q.count(Told(1, log)) + sum(log)
z = z + sum(1 for _ in itertools.groupby([Told(1, log), Told(1, log), Told(2, log)])) + sum(log)
h = [Told(3, log)]; heapq.heappush(h, Told(1, log)); z = z + heapq.heappop(h).n + sum(log)
z = z + bisect.bisect([Told(1, log), Told(2, log)], Told(2, log)) + sum(log)
z = z + operator.eq(Told(1, log), Told(1, log)) + operator.contains([Told(1, log)], Told(1, log)) + sum(log)
f = lambda o=Told(1, log), *a, **kw: o.n + len(a) + len(kw); z = z + f(Told(2, log), b=Told(2, log)) + sum(log)
z = z + (lambda *a: len(a))(*Told(3, log)) + sum(log)
z = z + next(iter(Told(2, log))) + min(Told(2, log)) + sum(log)
VAR.set(Told(1, log)); z = z + VAR.get().n + sum(log); VAR.set(1)
self.box.kept = Told(1, log); z = z + self.box.kept.n + sum(log); self.box.kept = None
self.last = Told(2, log); z = z + self.last.n + sum(log); self.last = None
self.d["t"] = Told(2, log); z = z + self.d.pop("t").n + sum(log)
self.xs.append(Told(2, log)); z = z + self.xs.pop().n + sum(log)
MEMO[Told(1, log)] = 1; MEMO[Told(3, log)] = 2; z = z + len(MEMO) + sum(log); MEMO.clear()
o = type("Made", (_Hashed,), {})(1, log); z = z + (o == 1) + len({o: 1}) + sum(log)
z = z + (Told(1, log) is Told(1, log)) + (id is Told) + sum(log)
z = z + torch.tensor([len(Told(2, log)), 1]).sum() + torch.tensor(list(Told(2, log))).sum() + sum(log)
f = torch.no_grad()(lambda o: o.n); z = z + f(Told(1, log)) + sum(log)
z = z + torch.utils.checkpoint.checkpoint(lambda v, o: v * o.n, z, Told(2, log), use_reentrant=False) + sum(log)
z = torch.vmap(lambda v: v * Told(2, log).n)(z) + sum(log)
t = torch.utils._pytree.tree_map(lambda v: v, {"a": Told(1, log), "b": [z]}); z = t["b"][0] + t["a"].n + sum(log)"""

STATEMENTS = "\n".join(f"log = []; {line}" for line in _LINES.splitlines())
