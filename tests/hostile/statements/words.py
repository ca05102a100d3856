"""Generators, iterators, finalizers, errors and classes of the program's own, and what builds code and texts."""

HEADER = """\
import contextlib, copy, gc, io
"""

STATEMENTS = """\
g = (i for i in range(3)); z = z + next(g) + sum(g)
z = z + next((v for v in self.xs if v > 5), 4)
it = iter(self.xs); z = z + next(it) + len(list(it))
it = copy.copy(iter([1, 2])); z = z + next(it)
z = z + len(f"{k:>4}{self.n!r}{z.ndim:03d}") + len("%d %s" % (k, self.flag))
print("k", k, z.shape, file=io.StringIO())
gone = weakref.finalize(self.sub, len, "a"); z = z + gone.alive; gone.detach()
try: next(iter([]))
except StopIteration as e: z = z + (e.value is None)
try: raise StopIteration(k)
except StopIteration as e: z = z + e.value
try: z = z + self.missing
except AttributeError as e: z = z + len(e.args) + ("missing" in str(e))
try: z = z @ torch.ones(5, 5)
except RuntimeError as e: z = z + len(e.args)
try: z = z.view(7)
except RuntimeError: z = z * 2
try: z = torch.cat([z, torch.ones(2, 4)])
except (RuntimeError, IndexError) as e: z = z + ("Sizes of tensors" in str(e))
try: z = z + [1][k]
except IndexError: z = z + 3
with contextlib.suppress(KeyError): z = z + self.d["none"]
with contextlib.ExitStack() as stack: stack.callback(vs.append, z); z = z + 1
with contextlib.nullcontext(z) as v: z = v * 2
z = z + len(list(itertools.chain(self.xs, map(abs, self.xs)))) + sum(itertools.islice(itertools.count(k), 2))
z = z + operator.attrgetter("n")(self.box) + operator.itemgetter("a")(self.d) + operator.methodcaller("bump")(Box(1))
z = z + type("T", (), {"n": 2})().n
z = functools.partial(torch.mul, z)(2) + functools.partial(lambda a, b: a * b, 2)(k)
Box.__len__ = lambda s: 2; z = z + len(self.box); del Box.__len__
own = Box(1); own.__class__ = type("Other", (Box,), {"kind": 5}); z = z + own.kind
z = z + eval("k + 1")
z = z + locals()["k"] + len(vars(self.box))
assert z.shape[0] == 2, f"{z.shape} {z}"
(q := z * 2).add_(1); z = q
gc.collect(); z = z + 1
z = z + (lambda n: n and 2 + k)(k) + (lambda *a, **b: len(a) + len(b))(1, *vs[:1], c=2)
z = z + copy.deepcopy(self.d)["a"] + copy.copy(self.box).n
z = copy.deepcopy(self.sub)(z)
z = z + sum(a * b for a, b in zip([1, 2], [k, 3], strict=True))
head, *tail = [z, *vs]; z = head + len(tail)
z = z + {**self.d, "z": k}["z"] + len([*self.d, *self.xs]) + len({*self.xs})
z = z + (0 if (n := len(self.xs)) > 3 else n)
z = z + bool(hasattr(self, "never")) + getattr(self, "never", 2)
self.never = k; z = z + self.never; del self.never
z = z * int.from_bytes(bytes([2]), "big") + float.fromhex("0x1p1") + divmod(k, 2)[1]"""
