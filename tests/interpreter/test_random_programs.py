"""Random programs do what they do in CPython: result, output in order, exceptions with chain and traceback.

    python -m tests.interpreter.test_random_programs 1000 5000

runs the programs with these numbers and prints what differs.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import warnings

import pytest

from dynamo_lite.interpreter import interpret
from tests.interpreter.differential import check, compiled, outcome
from tests.interpreter.random_programs import program


def _complaint(seed: int) -> str:
    """What differs for the program with this number; "" if nothing does."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")  # of the compiler, about what no person would write; coroutines not awaited
        source = program(seed)
        expected = outcome(compiled(source))
        actual = outcome(functools.partial(interpret, compiled(source)))
    return "" if actual == expected else f"{seed}: interpreted:\n{actual}\nCPython:\n{expected}"


@pytest.mark.parametrize("start", range(0, 160, 20))
def test_programs_do_what_they_do_in_cpython(start: int) -> None:
    assert [found for seed in range(start, start + 20) if (found := _complaint(seed))] == []


_TELLTALE = """
class V:
    def __iter__(self): print("iter"); return iter((1, 2))
    def __len__(self): print("len"); return 2
class Wrong(V):
    def __len__(self): print("len"); return {length}
class Hint:
    def __init__(self): self.left = 2
    def __iter__(self): print("iter"); return self
    def __next__(self):
        if not self.left: raise StopIteration
        self.left -= 1; return self.left
    def __length_hint__(self): print("hint"); return 7
class Key:
    def __init__(self, name): self.name = name
    def __hash__(self): print("hash", self.name); return hash(self.name)
    def __eq__(self, other): return self is other
class Map:
    def __getattr__(self, name): print("get", name); return lambda: V()
    def __getitem__(self, key): print("item", key); return key
class Odd(Map):
    keys = {keys}
def stream():
    for name in "xy":
        print("next"); yield Key(name)
def f(*args, **kwargs): return args
def case():
    {body}
"""


def _telltale(body: str, length: str = "2", keys: str = "lambda self: Hint()") -> str:
    return _TELLTALE.format(body=body, length=length, keys=keys)


@pytest.mark.parametrize("kind", ["V", "Hint"])
@pytest.mark.parametrize(
    "use",
    [
        "[*{0}()]", "(*{0}(),)", "{{*{0}()}}", "f(*{0}())", "f(1, *{0}())", "sorted({0}())", "list({0}())",
        "tuple({0}())", "set({0}())", "sorted({0}(), key=lambda x: -x)", "[].extend({0}())", "list(map(str, {0}()))",
        "max({0}())", "dict.fromkeys({0}())", "list(zip({0}(), {0}()))",
    ],
)  # fmt: skip
def test_the_length_is_asked_where_c_code_asks_it(kind: str, use: str) -> None:
    check(_telltale("return " + use.format(kind)))


@pytest.mark.parametrize("length", ["-1", "'no'", "1 / 0", "None", "True", "10 ** 3"])
def test_a_length_that_is_none(length: str) -> None:
    check(_telltale("return [*Wrong()]", length))


def test_what_is_left_of_an_iterator_has_a_length_too() -> None:
    check(_telltale("a, *b = Hint(); return a, b"))


def test_keys_are_hashed_as_they_come() -> None:
    check(_telltale("return len({*stream()})"))


@pytest.mark.parametrize("use", ["{**%s()}", "f(**%s())", "f(**{}, **%s())", "f(a=1, **%s())"])
@pytest.mark.parametrize(
    "keys",
    [
        "lambda self: 5", "lambda self: Hint()", "lambda self: self.missing.foo", "lambda self: [][1]", "3",
        "lambda self: iter('ab')", "property(lambda self: 1 // 0)", "lambda self: next(iter(()))",
        "lambda self: ['a', 'a']",
    ],
)  # fmt: skip
def test_a_mapping_is_asked_for_its_keys_once(use: str, keys: str) -> None:
    check(_telltale("return " + use % "Odd", keys=keys))


def test_the_attribute_is_looked_up_once() -> None:
    check(_telltale("return {**Map()}"))


def test_the_group_that_is_made_of_a_plain_exception() -> None:
    check("""
        def case():
            try:
                try:
                    raise ExceptionGroup("g", [ValueError(1)])
                except* Exception:
                    raise KeyError
            except* Exception as group:
                del unbound
    """)


@pytest.mark.parametrize(
    "use",
    [
        "list(map(eval, ['a', 'a + 1']))", "max(['a'], key=eval)", "next(map(eval, ['a']))", "[*filter(eval, ['a'])]",
        "list(itertools.starmap(eval, [('a',)]))", "list(map(eval, ['b'], [{'b': 2}]))",
        "next(iter(map(vars, [C]))) is None", "sorted(['a', 'c'], key=eval)",
        "functools.partial(eval, 'a')()",
        "list(map(exec, ['a = 5']))",
    ],
)  # fmt: skip
def test_what_looks_at_its_frame_is_called_by_c_code(use: str) -> None:
    check(f"""
        import functools, itertools
        class C: pass
        def case():
            a, c = 1, 0
            return {use}, a
    """)


if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        if found := _complaint(number):
            print(found, flush=True)
