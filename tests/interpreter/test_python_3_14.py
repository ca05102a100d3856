"""What Python 3.14 has: template strings, deferred annotations, its own with statement. (`make test-wasm`)"""

from __future__ import annotations

import sys

import pytest

from .differential import compiled, raised_by, value_of

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="the syntax and the annotations of Python 3.14")

VALUES = {
    "template strings": """
        def case():
            x, width = 1.5, 8
            parts = t"", t"a", t"{x}", t"{x}{width}", t"a{x!r:>{width}}b{x!s}{x!a:%}c", t"{x + 1 = }"
            return [(part.strings, part.values, [tuple(map(repr, (i.value, i.expression, i.conversion, i.format_spec)))
                    for i in part.interpolations]) for part in parts]
    """,
    "templates added": """
        def case():
            name = "n"
            both = t"a{name}" + t"b{name!r}"
            return both.strings, both.values, [str(part) for part in both if isinstance(part, str)]
    """,
    "annotations are evaluated when they are asked for": """
        seen = []
        def note(x):
            seen.append(x)
            return x
        def case():
            def f(a: note("a"), *b: note("b"), c: later = 1) -> note("r"): return a
            class C:
                x: note("x") = 3
                y: note("y")
                if note(True):
                    z: C
            before = list(seen)
            later = int
            return before, f.__annotations__, f(1), [*C.__annotations__], f.__annotate__(1), seen
    """,
    "annotations of a method": """
        def case():
            class C:
                def m(self, x: D) -> "C": return x
            class D: pass
            return C().m.__annotations__["x"].__name__, C.m.__annotations__["return"], C.m.__defaults__
    """,
    "annotations as strings and forward references": """
        import annotationlib
        def case():
            def f(a: unknown.thing | int, b: list[nothing]): pass
            forms = annotationlib.Format
            return (annotationlib.get_annotations(f, format=forms.STRING),
                    [*annotationlib.get_annotations(f, format=forms.FORWARDREF)])
    """,
    "a dataclass": """
        import dataclasses
        def case():
            @dataclasses.dataclass(order=True)
            class P:
                x: int
                y: list = dataclasses.field(default_factory=list)
            return P(1), P(1) < P(2), [f.name for f in dataclasses.fields(P)], P.__init__.__annotations__
    """,
    "with": """
        class M:
            def __init__(self, swallows): self.swallows = swallows
            def __enter__(self): print("enter"); return 5
            def __exit__(self, *args): print("exit", args[0]); return self.swallows
        def case():
            out = []
            for swallows in (True, False):
                try:
                    with M(True) as a, M(swallows) as b:
                        out.append(a + b)
                        if a: raise KeyError(swallows)
                except KeyError as error:
                    out.append(repr(error))
            def early():
                for i in range(3):
                    with M(False):
                        if i == 1: return i
                        continue
            return out, early()
    """,
    "async with and async for, sent by hand": """
        class Wait:
            def __await__(self): return (yield "waiting")
        class M:
            async def __aenter__(self): return await Wait()
            async def __aexit__(self, *args): print("exit", args[0]); return True
        class Count:
            def __aiter__(self): self.n = 0; return self
            async def __anext__(self):
                self.n += 1
                if self.n > 3: raise StopAsyncIteration
                return self.n
        async def agen():
            for i in range(2):
                yield i
                await Wait()
        async def main():
            out = []
            async with M() as m:
                out.append(m)
                async for n in Count(): out.append(n)
                out += [i async for i in agen()]
                raise ValueError
            return out
        def case():
            coroutine, log = main(), []
            try:
                value = None
                while True:
                    log.append(coroutine.send(value))
                    value = len(log)
            except StopIteration as stop:
                return log, stop.value
    """,
    "all and any are inlined unless they are others": """
        def case():
            first = all(x for x in (1, 2)), any(x > 1 for x in (1, 2)), tuple(x for x in (1, 2))
            return first, all(x for x in (0, 1)), replaced()
        def replaced():
            all = lambda xs: [*xs]
            return all(x for x in (1, 2))
    """,
    "except without parentheses, and except*": """
        def case():
            out = []
            for kind in (KeyError, ValueError, TypeError):
                try: raise kind(1)
                except KeyError, ValueError: out.append("first")
                except TypeError: out.append("second")
            try: raise ExceptionGroup("g", [KeyError(1), OSError(2)])
            except* KeyError, OSError: out.append("both")
            return out
    """,
    "calls with dicts": """
        def f(*args, **kwargs): return args, kwargs
        def case():
            a, d = [1, 2], {"k": 3}
            return f(*a), f(**d), f(*a, **d), f(*a, x=1, **d), f(0, *a, **{}), print(*a, sep="-")
    """,
    "subscripts and small numbers": """
        def case():
            x = [*range(300)]
            x[1:3] = [7]; x[255] += 256; x[-1] -= 1
            return x[0], x[255], x[256], x[1:4], x[::-100], 255, 256, -1, {0: 1}[0]
    """,
}

RAISES = {
    "no __exit__": "class M:\n    def __enter__(self): pass\ndef case():\n    with M(): pass",
    "no __enter__": "class M:\n    def __exit__(self): pass\ndef case():\n    with M(): pass",
    "the other protocol": """
        class M:
            async def __aenter__(self): pass
            async def __aexit__(self, *args): pass
        def case():
            with M(): pass
    """,
    "async with of a plain manager": """
        class M:
            def __enter__(self): pass
            def __exit__(self, *args): pass
        async def f():
            async with M(): pass
        def case(): f().send(None)
    """,
    "with of a number": "def case():\n    with 5: pass",
    "too many in a dict": "def case(): a, b = dict.fromkeys(range(4))",
    "too many in a generator": "def case(): a, b = (x for x in range(4))",
    "an annotation that raises": "def case():\n    def f(a: missing): pass\n    return f.__annotations__",
    "a format of annotations that is not there": "def case():\n    def f(a: int): pass\n    return f.__annotate__(3)",
}


@pytest.mark.parametrize("name", VALUES)
def test_value(name: str) -> None:
    value_of(VALUES[name])


@pytest.mark.parametrize("name", RAISES)
def test_raised_exception_and_traceback(name: str) -> None:
    raised_by(RAISES[name])


def test_annotations_are_interpreted() -> None:
    """CPython calls __annotate__ from C: its code must not run natively."""
    from dynamo_lite.interpreter import Interpreter, Observer

    class Names(Observer):
        def __init__(self) -> None:
            self.called: list[str] = []

        def before_call(self, fn: object, args: object, kwargs: object) -> object:
            self.called.append(getattr(fn, "__name__", "?"))
            return super().before_call(fn, args, kwargs)

    names = Names()
    case = compiled(
        """
        def note(): return int
        def case():
            def f(a: note()): pass
            class C:
                x: note()
            return f.__annotations__, C.__annotations__
        """
    )
    assert Interpreter(names).enter(case, (), {}) == ({"a": int}, {"x": int})
    assert names.called.count("note") == 2
