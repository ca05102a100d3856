"""Random programs of the whole language, each finite and with the same meaning on every run.

`program(seed)` is the source of a module with a function `case()`. What a program does is printed by the objects that
it uses (random_prelude.py), so that the order of all evaluations shows; most programs raise somewhere, and catch
some of it.
"""

from __future__ import annotations

import random
import re
import sys
import textwrap
from collections.abc import Callable

from tests.interpreter.random_prelude import PRELUDE

NAMES = "abcdefg"
ERRORS = ("ValueError", "KeyError", "TypeError", "ZeroDivisionError", "E1", "E2", "Exception", "LookupError",
          "(TypeError, KeyError)", "AttributeError", "RuntimeError", "NameError", "IndexError")  # fmt: skip
RAISED = ("ValueError('x')", "KeyError('k')", "E1", "E2('two')", "TypeError", "StopIteration(3)", "RuntimeError('r')")
Block = list[str]


def _indent(lines: Block) -> Block:
    return ["    " + line for line in lines] or ["    pass"]


class Writer:
    """Writes one program. `kind` of the function at work: "plain", "generator", "async" or "asyncgen"."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions: list[tuple[str, str]] = []  # (name, kind) of what may be called
        self.kind = "plain"
        self.loops = 0
        self.nested = 0
        self.in_group = False
        self.serial = 0
        self.left = 60  # statements

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def fresh(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    # ---- expressions

    def name(self) -> str:
        return self.random.choice(NAMES)

    def expr(self, depth: int = 3) -> str:
        if depth <= 0 or self.chance(0.3):
            return self.atom()
        write = self.random.choice(self.EXPRESSIONS)
        return self.fill(write(self, depth - 1), depth - 1)

    def fill(self, template: str, depth: int) -> str:
        """$n becomes a name, $e an expression of this depth, $0, $1 and $3 one of that depth."""

        def part(found: re.Match[str]) -> str:
            what = found[1]
            return self.name() if what == "n" else self.expr(depth if what == "e" else int(what))

        return re.sub(r"\$([en013])", part, template)

    def atom(self) -> str:
        number = str(self.random.randrange(-2, 6))
        text = self.pick("'s'", "''", "'abc'", "b'x'", "None", "True", "()", "1.5")
        return self.random.choice([self.name(), self.name(), self.name(), f"V({number})", number, text])

    def _binary(self, d: int) -> str:
        op = self.pick("+", "-", "*", "//", "%", "&", "|", "^", "@", "<<", "**")
        bounded = op in ("*", "<<", "**")
        right = self.pick("0", "1", "2", "V(1)") if bounded else self.expr(d)
        return f"({self.expr(0 if bounded else d)} {op} {right})"

    def _compare(self, d: int) -> str:
        ops = [
            self.pick("<", "==", "!=", ">=", "in", "not in", "is", "is not")
            for _ in range(self.random.choice([1, 1, 2]))
        ]
        return (
            "(" + " ".join([self.name(), *(f"{op} {self.expr(d) if 'is' not in op else 'None'}" for op in ops)]) + ")"
        )

    def _logic(self, d: int) -> str:
        return self.random.choice([
            "($e and $e)", "($e or $e)", "(not $e)",
            "($e if $e else $e)", "(-$e)",
            "($n := cut($e))",
        ])  # fmt: skip

    def _display(self, d: int) -> str:
        one, two = self.expr(d), self.expr(d)
        return self.random.choice([
            f"[{one}, *{two}]", f"({one}, {two})", f"{{{one}: {two}}}", f"{{'k': {one}, **{{'j': {two}}}}}",
            f"len([{one}, {two}])", f"(*{one}, {two})", f"{{**{one}}}", f"len({{{one}, {two}}})",
        ])  # fmt: skip

    def _text(self, d: int) -> str:
        return self.random.choice([
            "f'{$n}'", "f'{$n!r:>5}'", "f'{$n:{$n}}'",
            "f'{$n=}'", "'%s|%r' % ($e, $n)", "str($e)",
            "'{} {x}'.format($e, x=$n)",
        ])  # fmt: skip

    def _access(self, d: int) -> str:
        return self.random.choice([
            "$n.n", "$n.prop", "$n.foo", "$n.deep", "$n[$e]",
            "$n[$n:]", f"{self.name()}[::{self.pick('1', '-1', '2')}]", "getattr($n, 'n', 7)",
        ])  # fmt: skip

    def _call(self, d: int) -> str:
        if self.functions and self.chance(0.6):
            name, kind = self.random.choice(self.functions)
            args = [self.expr(d) for _ in range(self.random.randrange(3))]
            if self.chance(0.2):
                args.append("*$0")
            if self.chance(0.3):
                args.append("k=$0")
            if self.chance(0.1):
                args.append(f"**{self.pick('a', '{}', str({'k': 1}), str({'z': 1}))}")
            call = f"{name}({', '.join(args)})"
            if kind == "generator":
                plan = [self.pick("1", "'throw'", "'close'", "None") for _ in range(self.random.randrange(4))]
                return self.pick(
                    f"drive({call}, [{', '.join(plan)}])",
                    f"list({call})",
                    f"sum(1 for _ in {call})",
                    f"next({call}, 5)",
                )
            if kind == "async":
                return f"await {call}" if self.kind == "async" and self.chance(0.6) else f"run({call})"
            return call
        return self.random.choice([
            "sorted($e, key=lambda x: -x if isinstance(x, int) else 0)", "list(map(lambda x: ($e), $e))",
            "sum($e)", "max($e, $e)", "$n($e)", "list(zip($n, $n))",
            "any(x for x in $e)", f"isinstance({self.expr(d)}, {self.pick('int', 'V', '(str, V)')})", "dict(a=$e)",
            "(lambda p, *q, k=$0: (p, q, k))($e, $e)", "functools.reduce(operator.add, $e)",
            "next(iter($e), $0)", "abs($e)", "repr($e)", "bool($e)",
        ])  # fmt: skip

    def _comprehension(self, d: int) -> str:
        inner = self.random.choice(["x, $n", "x", "(y := x), $n", "[x for $n in range(2)]", "lambda: x"])
        source = self.pick(self.expr(d), "range(3)", "V(3)", "(1, 2, 3)")
        test = " if $e" if self.chance(0.3) else ""
        second = f" for {self.pick('z', 'x')} in range(2)" if self.chance(0.3) else ""
        inner = f"({inner})"
        if "lambda" in inner:
            return f"[f() for f in [{inner} for x in {source}{second}{test}]]"
        loops = f"for x in {source}{second}{test}"
        return self.pick(f"[{inner} {loops}]", f"list({inner} {loops})", f"{{str(x): {inner} {loops}}}")

    def _look(self, d: int) -> str:
        return self.pick(
            "sorted(locals())", "sorted(vars())", "dir()", "type($n).__name__", "(lambda: $n)()", "eval('$n')",
            "repr(sys.exception())", "sys.exc_info()[0]", "[(lambda: (x, $n))() for x in range(2)]", "callable($n)",
            "[*map(eval, ['$n', '$n + 1'])]", "exec('$n = 3')", "locals().get('$n')", "sys._getframe().f_lineno",
            "sys._getframe().f_code.co_name", "sorted(sys._getframe().f_locals)", "(yield_ := $e)",
            "[y_ := x for x in (1, $n)]", "(lambda *a, **k: (a, k))(*$n, **{'q': $0})",
            "str(sys.exception().__context__)",
        )  # fmt: skip

    EXPRESSIONS: tuple[Callable[..., str], ...] = (
        _binary, _binary, _compare, _logic, _logic, _display, _text, _access, _call, _call, _call, _comprehension,
        _look,
    )  # fmt: skip

    # ---- statements

    def block(self, size: int = 3) -> Block:
        lines: Block = []
        for _ in range(self.random.randrange(1, size + 1)):
            lines += self.statement()
        return lines

    def statement(self) -> Block:
        self.left -= 1
        if self.left <= 0 or self.nested > 4 or self.chance(0.45):
            return self.simple()
        self.nested += 1
        try:
            return self.random.choice(self.COMPOUND)(self)
        finally:
            self.nested -= 1

    def simple(self) -> Block:
        options = [
            "$n = cut($3)", "$n = cut($3)", f"$n {self.pick('+=', '-=', '&=')} cut($3)",
            "print($3)", "$n, $n = $3", "$n, *$n = $3",
            "($n, ($n, *$n)) = $3", "assert $3, $1",
            "$n[$1] = cut($1)", "$n.n = cut($1)", "$3",
            "del $n", "$n = $n = cut($1)", "$n: int = cut($1)",
            f"raise {self.pick(*RAISED)}", f"raise {self.pick(*RAISED)} from {self.pick(*RAISED, 'None', '$n')}",
            "raise",
            "del $n[$0]", "$n[$n:] = cut($1)",
        ]  # fmt: skip
        if self.loops and not self.in_group:
            options += ["break", "continue"] * 2
        if not self.in_group:
            options += ["return" if self.kind == "asyncgen" else "return cut($3)"] * 2
        if self.kind == "generator":
            options += ["$n = yield $3", "yield $1"] * 4
            options += ["$n = yield from $3", "print((yield), $n)"]
        if self.kind in ("async", "asyncgen"):
            options += ["$n = await Step()", "await Step()", "$n = await $1",
                        f"$n = [x async for x in V({self.random.randrange(4)}) if $1]"] * 2  # fmt: skip
        if self.kind == "asyncgen":
            options += ["yield $1"] * 4
        return [self.fill(self.random.choice(options), 2)]

    def _if(self) -> Block:
        lines = [f"if {self.expr()}:", *_indent(self.block())]
        if self.chance(0.3):
            lines += [f"elif {self.expr()}:", *_indent(self.block(2))]
        return lines + (["else:", *_indent(self.block())] if self.chance(0.5) else [])

    def _looped(self, header: str) -> Block:
        group, self.in_group = self.in_group, False
        self.loops += 1
        body = self.block()
        self.loops -= 1
        self.in_group = group
        lines = [header, *_indent(["tick()", *body])]
        return lines + (["else:", *_indent(self.block(2))] if self.chance(0.3) else [])

    def _for(self) -> Block:
        target = self.pick(self.name(), f"{self.name()}, {self.name()}", f"{self.name()}.n", f"{self.name()}")
        source = self.pick(
            self.expr(2), "range(3)", "V(2)", "[(1, 2), (3, 4)]", "enumerate('ab')", "(V(i) for i in range(4))"
        )
        return self._looped(f"for {target} in {source}:")

    def _while(self) -> Block:
        counter = self.fresh("i")
        return [f"{counter} = 0", *self._looped(f"while ({counter} := {counter} + 1) < {self.random.randrange(2, 5)}:")]

    def _try(self) -> Block:
        lines = ["try:", *_indent(self.block())]
        handlers = self.random.randrange(3)
        for _ in range(handlers):
            name = f" as {self.name()}" if self.chance(0.5) else ""
            lines += [f"except {self.pick(*ERRORS)}{name}:", *_indent(self.block(2))]
        if handlers and self.chance(0.1):
            lines += ["except:", *_indent(self.block(2))]
        if handlers and self.chance(0.3):
            lines += ["else:", *_indent(self.block(2))]
        if not handlers or self.chance(0.4):
            lines += ["finally:", *_indent(self.block(2))]
        return lines

    def _try_star(self) -> Block:
        inner = self.pick("ExceptionGroup('g', [ValueError(1), E2('e'), TypeError('t')])", *RAISED,
                          "ExceptionGroup('o', [ExceptionGroup('i', [KeyError(1)]), E1()])")  # fmt: skip
        lines = ["try:", *_indent([*self.block(2), f"raise {inner}"])]
        for _ in range(self.random.randrange(1, 3)):
            group, self.in_group = self.in_group, True
            loops, self.loops = self.loops, 0
            body = self.block(2)
            self.in_group, self.loops = group, loops
            lines += [f"except* {self.pick(*ERRORS)} as {self.name()}:", *_indent(body)]
        return lines + (["finally:", *_indent(self.block(2))] if self.chance(0.3) else [])

    def _with(self) -> Block:
        first = f"V({self.random.randrange(6)})"
        items = [first + (f" as {self.name()}" if self.chance(0.5) else "")]
        if self.chance(0.3):
            items.append(
                self.pick(
                    f"V({self.random.randrange(6)}) as ({self.name()})",
                    "contextlib.suppress(E1, KeyError)",
                    self.name(),
                )
            )
        word = "async with" if self.kind in ("async", "asyncgen") and self.chance(0.6) else "with"
        if word != "with":
            items = items[:1]
        return [f"{word} {', '.join(items)}:", *_indent(self.block())]

    def _match(self) -> Block:
        lines = [f"match {self.expr()}:"]
        patterns = [
            "0 | 1 | 2", "V($n)", "V(n=$n)", "[$n, *_]", "{'k': value, **rest}", "str()", "None", "(1, $n)",
            "V($n, deep=int())", "int(n) if n > 2", "[int() as n, *others]", "-1 | 1.5",
        ]  # fmt: skip
        for pattern in self.random.sample(patterns, self.random.randrange(1, 4)):
            pattern = self.fill(pattern, 0)
            lines += _indent([f"case {pattern}:", *_indent(self.block(2))])
        return lines + (_indent(["case _:", *_indent(self.block(2))]) if self.chance(0.5) else [])

    def _function(self) -> Block:
        kind = self.pick("plain", "plain", "generator", "generator", "async", "asyncgen")
        name = self.fresh("f")
        lines = self.function(name, kind, self.pick("", "nonlocal", "", "defaults"))
        self.functions.append((name, kind))
        if kind == "asyncgen":
            self.functions.pop()
            wrapper = self.fresh("f")
            lines += [
                f"async def {wrapper}(*args, **kwargs):",
                f"    return [x async for x in {name}(*args, **kwargs)]",
            ]
            self.functions.append((wrapper, "async"))
        return lines

    def function(self, name: str, kind: str, style: str = "") -> Block:
        """A def statement; its body knows the functions so far."""
        saved = self.kind, self.loops, self.in_group, list(self.functions)
        self.kind, self.loops, self.in_group = kind, 0, False
        args = self.pick(
            "a=1, *args, k=2", "a, b=V(1), /, c=3", "*args, **kw", "a=0, b=1, *, k=None", f"a={self.expr(1)}, *, k=V(2)"
        )
        body = self.block(4)
        if kind in ("generator", "asyncgen"):
            body.append(f"yield {self.expr(1)}")
        if style == "nonlocal":
            cell = self.pick("e", "f", "g")
            if cell not in args.replace("self", ""):
                body.insert(0, f"nonlocal {cell}")
        head = "async def" if kind.startswith("async") else "def"
        self.kind, self.loops, self.in_group, self.functions = saved
        decorated = (
            [self.pick("@functools.lru_cache", "@staticmethod", "@(lambda f: f)")]
            if self.chance(0.05) and kind == "plain"
            else []
        )
        return [*decorated, f"{head} {name}({args}):", *_indent(body)]

    def _class(self) -> Block:
        name = self.fresh("C")
        saved = self.kind, self.loops, self.in_group, list(self.functions)
        base = self.pick("V", "V", "E1", "dict", "Plain")
        body = self.function("method", self.pick("plain", "generator"))
        body[0] = body[0].replace("method(", "method(self, ") if body[0].startswith("def") else body[0]
        extra = [
            f"attr = {self.expr(1)}",
            f"def __init__(self, *args): super().__init__(); self.n = {self.random.randrange(5)}",
            f"def __add__(self, other): return ({self.expr(1)})" if self.kind != "async" else "pass",
        ]
        self.kind, self.loops, self.in_group, self.functions = saved
        lines = [f"class {name}({base}):", *_indent([*body, *self.random.sample(extra, 2)])]
        return [*lines, f"{self.name()} = {name}()", f"print({name}.__name__, len({name}.__mro__))"]

    COMPOUND: tuple[Callable[..., Block], ...] = (
        _if, _if, _for, _for, _while, _try, _try, _try, _with, _with, _match, _function, _function, _class, _try_star,
    )  # fmt: skip

    def source(self) -> str:
        body: Block = [f"{', '.join(NAMES)} = 1, 'two', V(3), [1, V(2), 3], {{'k': 4}}, V(6), (5, 6)"]
        for _ in range(self.random.randrange(1, 3)):
            body += self._function()
        while self.left > 0:
            if self.chance(0.6):
                body += ["try:", *_indent(self.block(4)), "except Exception as error:"]
                body += ["    print(type(error).__name__, error)"]
            else:
                body += self.statement()
        return textwrap.dedent(PRELUDE) + "\ndef case():\n" + "\n".join(_indent(body)) + "\n"


def program(seed: int) -> str:
    """The source of the program with this number: one that the running Python compiles."""
    tried = 0
    while True:
        source = Writer(seed * 1000 + tried).source()
        try:
            compile(source, "<program>", "exec")
        except SyntaxError:
            tried += 1
        else:
            return source


if __name__ == "__main__":
    print(program(int(sys.argv[1])))
