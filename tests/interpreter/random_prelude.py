"""What the programs of random_programs.py have at hand: objects that print all that is done with them."""

PRELUDE = '''
import sys, functools, itertools, operator, contextlib

class V:
    """A number that tells of all that is done with it."""
    def __init__(self, n=0): self.n = n
    def __repr__(self): return f"V{self.n}"
    def _op(name):
        def op(self, other=None):
            print(name, self, other if isinstance(other, (V, int, str, type(None))) else type(other).__name__)
            if self.n % 5 == 4: raise ValueError(f"{name} of {self}")
            if self.n % 7 == 3: return NotImplemented
            return V(self.n + len(name))
        return op
    for name in ("add radd sub rsub mul rmul matmul iadd and or xor neg getitem call").split():
        exec(f"__{name}__ = _op({name!r})")
    def __eq__(self, other): print("eq", self); return isinstance(other, V) and self.n == other.n
    def __lt__(self, other): print("lt", self); return self.n < getattr(other, "n", 2)
    def __hash__(self): print("hash", self); return self.n
    def __bool__(self): print("bool", self); return self.n % 3 != 0
    def __len__(self): print("len", self); return self.n % 4
    def __iter__(self): print("iter", self); return iter(range(self.n % 4))
    def __contains__(self, x): print("contains", self); return self.n % 2 == 0
    def __format__(self, spec): print("format", self, spec); return f"<{self.n}{spec}>"
    def __enter__(self): print("enter", self); return V(self.n + 1)
    def __exit__(self, kind, value, tb):
        print("exit", self, kind and kind.__name__)
        if self.n % 4 == 1: raise KeyError(f"exit {self}")
        return self.n % 4 == 2
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        print("getattr", self, name)
        return self.n + len(name) if self.n % 3 else getattr(self.missing_, name) if name == "deep" else V(1)
    async def __aenter__(self): print("aenter", self); await Step(); return self
    async def __aexit__(self, kind, value, tb): print("aexit", self, kind and kind.__name__); return self.n % 3 == 0
    def __aiter__(self): print("aiter", self); return Steps(self.n % 4)
    __match_args__ = ("n", "deep")
    @property
    def prop(self): print("prop", self); return 10 // (self.n - 2)

class Step:
    def __await__(self): print("await"); got = yield "step"; print("awaited", got); return got

class Steps:
    def __init__(self, n): self.n = n
    async def __anext__(self):
        if not self.n: raise StopAsyncIteration
        self.n -= 1; await Step(); return self.n

class Stop(BaseException): pass

class Plain:
    def __repr__(self): return "plain"

ticks = 0
def tick():
    global ticks
    ticks += 1
    if ticks > 300: raise Stop

def cut(x):
    """x, if it is small: what a loop doubles is not for printing."""
    todo, seen = [x], 0
    while todo:
        x_ = todo.pop()
        seen += 1
        if seen > 60 or type(x_) is int and abs(x_) > 9999 or type(x_) in (str, bytes) and len(x_) > 99: return 5
        if type(x_) in (list, tuple, set, frozenset): todo += x_
        elif type(x_) is dict: todo += [*x_.keys(), *x_.values()]
        elif type(x_) is V: todo.append(x_.n)
    return x

class E1(Exception): pass
class E2(E1): pass

def run(coroutine):
    sent = None
    for n in range(12):
        try: got = coroutine.send(sent)
        except StopIteration as stop: return stop.value
        if n == 7:
            try: coroutine.throw(E1("thrown"))
            except StopIteration as stop: return stop.value
        sent = n
    coroutine.close()

def drive(gen, plan):
    out = []
    try:
        out.append(next(gen))
        for step in plan:
            if step == "throw": out.append(gen.throw(E2("thrown")))
            elif step == "close": gen.close(); out.append("closed")
            else: out.append(gen.send(step))
    except StopIteration as stop: out.append(("stop", stop.value))
    except Exception as error: out.append((type(error).__name__, str(error)))
    return out
'''
