"""The language, topic by topic, against CPython (see differential.py)."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ..webassembly import needs_event_loop
from .differential import check, raised_by, value_of

VALUES = {
    "closures and nonlocal": """
        def case():
            def counter():
                n = 0
                def step(by=1):
                    nonlocal n
                    n += by
                    return n
                return step
            a, b = counter(), counter()
            own, shared = [lambda i=i: i for i in range(3)], [lambda: j for j in range(3)]
            return a(), a(5), b(), [f() for f in own], [f() for f in shared]
    """,
    "argument kinds": """
        def case():
            def f(a, b=2, /, c=3, *rest, d, e=5, **more):
                return a, b, c, rest, d, e, more
            return (f(1, d=4), f(1, 2, 3, 4, 5, d=6, x=7), f(*(1, 2), **{'d': 1, 'b': 9}),
                    f(1, *[2], d=0, **{}, **{'z': 1}))
    """,
    "decorators and defaults are evaluated once": """
        def case():
            log = []
            def deco(tag):
                log.append(tag)
                def wrap(f):
                    log.append(f.__name__)
                    return f
                return wrap
            @deco('a')
            @deco('b')
            def f(x=log.append('default'), *, y: log.append('annotation') = 1): return x, y
            return log, f(), f.__annotations__, f.__kwdefaults__, f.__qualname__, f.__module__, f.__doc__
    """,
    "classes, super, properties, slots": """
        def case():
            class Meta(type):
                @classmethod
                def __prepare__(mcls, name, bases, **kw): return {'made_by': name}
                def __new__(mcls, name, bases, ns, **kw): return super().__new__(mcls, name, bases, dict(ns, kw=kw))
                def __init__(cls, name, bases, ns, **kw): super().__init__(name, bases, ns)
                def __call__(cls, *args): return super().__call__(*args), 'called'
            class Base(metaclass=Meta, flag=1):
                __slots__ = ('x',)
                def __init__(self, x): self.x = x
                def who(self): return __class__.__name__
                @property
                def double(self): return self.x * 2
                @double.setter
                def double(self, v): self.x = v // 2
                @staticmethod
                def s(): return 's'
                @classmethod
                def c(cls): return cls.__name__
            class Child(Base):
                def who(self): return super().who(), super(Child, self).who(), [super(Child, self).who() for _ in '1']
                def __init_subclass__(cls, **kw): super().__init_subclass__(**kw); cls.sub = True
            class GrandChild(Child): pass
            o, tag = Child(3)
            o.double = 10
            return (o.who(), o.x, o.double, tag, o.s(), o.c(), Base.kw, Base.made_by, GrandChild.sub,
                    Child.__mro__[1].__name__)
    """,
    "__set_name__, __getattr__, descriptors": """
        def case():
            class D:
                def __set_name__(self, owner, name): self.name = name, owner.__name__
                def __get__(self, obj, cls): return self.name, obj is None
                def __set__(self, obj, value): obj.__dict__['log'] = value
            class C:
                d = D()
                def __getattr__(self, name): return 'missing ' + name
            c = C()
            c.d = 5
            return C.d, c.d, c.log, c.nope
    """,
    "mro entries and class cells": """
        def case():
            class Alias:
                def __mro_entries__(self, bases): return (list,)
            class C(Alias()):
                def cls(self): return __class__
            return C.__bases__, C.__orig_bases__[0].__class__.__name__, C().cls() is C
    """,
    "generators: send, throw, close, yield from": """
        def case():
            log = []
            def inner():
                try:
                    while True:
                        try:
                            got = yield len(log)
                            log.append(got)
                        except KeyError as e:
                            log.append(('caught', e.args))
                            if e.args == ('stop',): return 'done'
                finally:
                    log.append('closed')
            def outer():
                result = yield from inner()
                log.append(result)
                yield 'after'
            g = outer()
            r = [next(g), g.send('a'), g.throw(KeyError('k')), g.send('b'), g.throw(KeyError('stop'))]
            h = outer(); next(h); h.close()
            return r, log, list(outer_gen for outer_gen in (x * 2 for x in range(3)))
    """,
    "a generator keeps its own exception being handled": """
        import sys
        def case():
            def g():
                try: raise KeyError('in generator')
                except KeyError:
                    yield repr(sys.exception())
                    yield repr(sys.exception())
                yield repr(sys.exception())
            seen = []
            gen = g()
            try: raise ValueError('outside')
            except ValueError:
                seen += [next(gen), repr(sys.exception())]
            seen += [next(gen), repr(sys.exception()), next(gen), repr(sys.exc_info()[1])]
            return seen
    """,
    "coroutines and asynchronous generators": """
        import asyncio
        def case():
            class Manager:
                async def __aenter__(self): await asyncio.sleep(0); return 'entered'
                async def __aexit__(self, *exc): return exc[0] is ValueError
            async def numbers(n):
                try:
                    for i in range(n):
                        await asyncio.sleep(0)
                        got = yield i
                        if got: yield got
                finally:
                    await asyncio.sleep(0)
            async def main():
                out = [x async for x in numbers(3) if x]
                async with Manager() as m:
                    out.append(m)
                    raise ValueError
                g = numbers(2)
                out += [await g.__anext__(), await g.asend('sent')]
                await g.aclose()
                out += await asyncio.gather(*(asyncio.sleep(0, i) for i in range(3)))
                out.append({i: j async for i, j in aenumerate()})
                return out
            async def aenumerate():
                for i in 'ab': yield i, i * 2
            return asyncio.run(main())
    """,
    "with: suppression, order, exit looked up on the type": """
        def case():
            log = []
            class M:
                def __init__(self, n, swallow=False): self.n, self.swallow = n, swallow
                def __enter__(self): log.append(('in', self.n)); return self
                def __exit__(self, kind, exc, tb):
                    log.append(('out', self.n, kind and kind.__name__, tb is not None and tb.tb_lineno))
                    return self.swallow
            def f():
                with M(1) as a, M(2, True):
                    a.__exit__ = None
                    raise KeyError
                for i in range(3):
                    with M(i):
                        if i == 1: continue
                        if i == 2: return 'returned'
            return f(), log
    """,
    "try, finally, else in every direction": """
        def case():
            log = []
            def f(what):
                for i in range(3):
                    try:
                        log.append(('try', i))
                        if what == 'raise' and i == 1: raise KeyError(i)
                        if what == 'break' and i == 1: break
                        if what == 'return' and i == 1: return 'from try'
                    except KeyError as e:
                        log.append(('except', e.args))
                    else:
                        log.append('else')
                    finally:
                        log.append('finally')
                        if what == 'override' and i == 2: return 'from finally'
                try: e
                except NameError as error: log.append(str(error))
                return 'end'
            return [f(w) for w in ('raise', 'break', 'return', 'override')], log
    """,
    "exception groups": """
        def case():
            seen = []
            def f(exc):
                try:
                    try: raise exc
                    except* KeyError as e: seen.append(('key', repr(e)))
                    except* (ValueError, TypeError) as e:
                        seen.append(('value', repr(e)))
                        raise OSError('new')
                except BaseException as e: seen.append(repr(e)); seen.append(repr(e.__context__))
            f(ExceptionGroup('g', [KeyError(1), ExceptionGroup('h', [ValueError(2), IndexError(3)])]))
            f(KeyError('bare'))
            f(IndexError('rest'))
            return seen
    """,
    "match": """
        from dataclasses import dataclass
        def case():
            @dataclass
            class P:
                x: int
                y: int
            def f(v):
                match v:
                    case 0 | 1: return 'small'
                    case int(n) if n > 100: return 'big', n
                    case str() as s: return 'str', s
                    case [1, *rest]: return 'starts with 1', rest
                    case (a, b, c): return 'three', a, b, c
                    case {'k': k, **more}: return 'mapping', k, more
                    case P(0, y=yy): return 'on axis', yy
                    case P(x, y): return 'point', x, y
                    case None: return 'none'
                    case _: return 'other'
            values = 0, 101, 50, 'q', [1, 2, 3], (4, 5, 6), {'k': 1, 'j': 2}, {}, P(0, 1), P(2, 3), None, b''
            return [f(v) for v in values]
    """,
    "formatting": """
        def case():
            class F:
                def __format__(self, spec): return f'<{spec}>'
                def __repr__(self): return 'F!'
                def __str__(self): return 'str F'
            x, w = 3.14159, 8
            return (f'{x:{w}.2f}|{F()}|{F()!r:>6}|{F()!s}|{F():abc}|{x=}|{"é"!a}|{{}}', '%s %r' % (F(), F()),
                    '{0:z} {0!r}'.format(F()))
    """,
    "unpacking and star expressions": """
        def case():
            a, *b, c = range(5)
            (d, [e, *f]), g = (1, [2, 3]), 4
            def gen(): yield from 'xyz'
            h, *i = gen()
            return a, b, c, d, e, f, g, h, i, [*b, *gen()], {*b}, {**{'a': 1}, 'b': 2, **{'a': 3}}, (*gen(), 1)
    """,
    "slices, walrus, chained comparison, conditional imports": """
        def case():
            import os.path as p, sys
            from collections import OrderedDict as OD, deque
            xs = list(range(10))
            xs[2:4] = 'ab'
            del xs[-2:], xs[0]
            if (n := len(xs)) > 3 < 5 != 6: xs.append(n)
            return xs, xs[::-2], p.basename('a/b'), OD(a=1), deque([1])[0], 1 < 2 > 1, not xs, -n, +n, ~n, n is None
    """,
    "locals, vars, dir, eval, exec": """
        g = 10
        def case(a=1):
            b = 2
            def inner(): return a
            exec('c = a + 1')
            ns = {}
            exec('def f(x): return x * y\\ny = 4\\nz = [i * y for i in range(3)]', ns)
            class C:
                u = 1
                here = sorted(locals())
                listed = [u for _ in range(1)] if False else dir()
            return (sorted(locals()), sorted(vars()), dir(), eval('a + b + g'), eval('x', {'x': 5}), ns['f'](3),
                    ns['z'],
                    C.here, C.listed, eval(compile('b', 'f', 'eval')), globals()['g'])
    """,
    "sys._getframe, warnings, logging": """
        import sys, warnings, logging, inspect, io
        def case():
            def name(depth): return sys._getframe(depth).f_code.co_name, sys._getframe(depth).f_lineno
            def warn():
                warnings.warn('careful', DeprecationWarning, stacklevel=2)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter('always')
                warn()
            stream = io.StringIO()
            log = logging.getLogger('snippet'); log.propagate = False
            handler = logging.StreamHandler(stream)
            handler.setFormatter(logging.Formatter('%(funcName)s %(lineno)d %(message)s'))
            log.handlers = [handler]; log.warning('hello')
            f = inspect.currentframe()
            return (name(0), name(1), seen[0].lineno, stream.getvalue(), f.f_code.co_name,
                    inspect.getframeinfo(f).lineno, inspect.isframe(f))
    """,
    "deletion": """
        x = 1
        def case():
            global x
            d = {'a': 1}; o = type('O', (), {})(); o.q = 1; l = [1, 2]; c = 5
            del d['a'], o.q, l[0], x
            def f(): return c
            del c
            out = [d, l, hasattr(o, 'q'), 'x' in globals()]
            for get in (f, lambda: x, lambda: o.q):
                try: get()
                except Exception as e: out.append((type(e).__name__, str(e), getattr(e, 'name', None)))
            return out
    """,
    "context, cause, notes": """
        def case():
            out = []
            def chain(e):
                while e is not None:
                    out.append((repr(e), repr(e.__cause__), e.__suppress_context__, getattr(e, '__notes__', None)))
                    e = e.__context__
                out.append('--')
            try:
                try: raise KeyError(1)
                except KeyError as k:
                    k.add_note('note')
                    try: {}['native']
                    except KeyError: raise ValueError(2) from None
            except ValueError as v: chain(v)
            try:
                try: 1 / 0
                except ZeroDivisionError as z: raise TypeError from z
            except TypeError as t: chain(t)
            try:
                try: raise OSError
                finally: [].pop()
            except IndexError as i: chain(i)
            try:
                try: raise OSError(1)
                except OSError:
                    try: raise KeyError(2)
                    except KeyError: pass
                    raise
            except OSError as o: chain(o)
            return out
    """,
    "the order of a set made of another": """
        def case():
            class Reversed(set):
                def __iter__(self): return iter(sorted(set.__iter__(self), reverse=True))
            added = set()
            for n in (24, 16, 8, 0, 32): added.add(n)
            keys = {n: None for n in (56, 24, 16, 8, 0)}
            return [list(s) for s in ({*added}, {*frozenset(added)}, {*keys}, {40, *added}, {*added, *keys},
                                      {*Reversed(added)}, {24, 16, 8, 0, 32}, {*[24, 16, 8, 0, 32]},
                                      set(added), set(keys), added | {64}, {n for n in added})]
    """,
}

RAISES = {
    "an uncaught exception shows the program's lines": """
        def f(x):
            return 1 / x
        class C:
            def __getitem__(self, i):
                return f(i)
        def case():
            return [C()[i] for i in (1, 0)]
    """,
    "through native code": "def case(): return sorted([1, 2], key=lambda x: x.nope)",
    "through a generator": """
        def g():
            yield 1
            raise KeyError('k')
        def case():
            return list(g())
    """,
    "StopIteration becomes RuntimeError": """
        def g():
            yield 1
            next(iter(()))
        def case():
            return list(g())
    """,
    "raised while handling": """
        def case():
            try:
                {}['a']
            except KeyError as e:
                raise ValueError('second') from e
    """,
    "reraised": """
        def case():
            try:
                int('x')
            except ValueError:
                raise
    """,
    "an exception group": """
        def case():
            try:
                raise ExceptionGroup('eg', [ValueError(1), TypeError(2)])
            except* ValueError:
                pass
    """,
    "local variable": "def case():\n    print(a)\n    a = 1",
    "global name": "def case(): return no_such_name",
    "free variable": "def case():\n    def f(): return a\n    f()\n    a = 1",
    "too many to unpack": "def case(): a, b = [1, 2, 3]",
    "too few to unpack": "def case(): a, *b, c = [1]",
    "not iterable": "def case(): a, b = 5",
    "not callable": "def case(): return None()",
    "star of an int": "def case(): print(*5)",
    "double star of an int": "def case(): print(**5)",
    "repeated keyword": "def case(): dict(a=1, **{'a': 2})",
    "missing arguments": "def case():\n    def f(a, b, *, c): pass\n    f(1)",
    "unexpected keyword": "def case():\n    def f(alpha): pass\n    f(alpha=1, alpah=2)",
    "too many arguments": "def case():\n    def f(a, b=1): pass\n    f(1, 2, 3)",
    "no context manager": "def case():\n    with 5: pass",
    "no exit": "def case():\n    class C:\n        def __enter__(self): pass\n    with C(): pass",
    "catching a non-exception": "def case():\n    try: 1 / 0\n    except 5: pass",
    "raising a non-exception": "def case(): raise 5",
    "nothing to reraise": "def case(): raise",
    "a bad cause": "def case(): raise ValueError from 5",
    "assert": "def case(): assert 1 == 2, 'message'",
    "metaclass conflict": """
        def case():
            class A(type): pass
            class B(type): pass
            class C(metaclass=A): pass
            class D(C, metaclass=B): pass
    """,
    "super without arguments": "def case(): super()",
    "import of a missing name": "def case(): from os import no_such_thing",
    "import of a missing module": "def case(): import no_such_module_at_all",
    "match arguments": "def case():\n    match 5:\n        case int(a, b): pass",
    "await of an int": """
        def case():
            async def f(): await 5
            f().send(None)
    """,
    "a syntax error in eval": "def case(): return eval('1 +')",
    "an exception in exec": "def case(): exec('a = 1\\nb = a / 0')",
}


def _param(name: str) -> Any:
    return pytest.param(name, marks=needs_event_loop if "asyncio.run" in VALUES[name] else ())


@pytest.mark.parametrize("name", map(_param, VALUES))
def test_value(name: str) -> None:
    value_of(VALUES[name])


@pytest.mark.parametrize("name", RAISES)
def test_raised_exception_and_traceback(name: str) -> None:
    raised_by(RAISES[name])


NEWER = {
    "type parameters": """
        def case():
            class Box[T: int, *Ts, **P]:
                def get[U](self, x: U) -> U: return x
            type Pair[A] = tuple[A, A]
            def first[X: (int, str)](x: X): return x
            return (Box.__type_params__, Box.__type_params__[0].__bound__, Box().get(1), Pair.__value__,
                    Pair.__type_params__,
                    first.__type_params__[0].__constraints__, Box.__type_params__[0].__module__, Box.__orig_bases__)
    """,
    "inlined comprehensions keep outer names": """
        x = 'module'
        def case():
            x = 'outer'
            a = [x for x in range(3)]
            class C:
                y = 1
                z = [locals()['q'] for q in range(2)]
            return x, a, C.z, [[x + y for x in a] for y in a]
    """,
    "super attributes": """
        def case():
            class A:
                v = 1
                def m(self, *a, **k): return a, k
            class B(A):
                v = 2
                def m(self, *a, **k): return super().v, super().m(*a, **k), super(B, self).m(1), super().m
            r = B().m(1, k=2)
            return r[:3], r[3].__func__ is A.m
    """,
}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of 3.12")
@pytest.mark.parametrize("name", NEWER)
def test_value_from_3_12_on(name: str) -> None:
    value_of(NEWER[name])


def test_prints_the_same() -> None:
    _, _, output = check("def case():\n    for i in range(3): print(i, end=';')")
    assert output == "0;1;2;"
