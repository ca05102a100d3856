"""Listeners of the program, and when its objects die."""

HEADER = "import io, logging, warnings, weakref\n\n\nclass Mortal:\n    pass\n\n\n"
STATEMENTS = """\
logging.getLogger("hostile").debug("%s", k)
b = io.StringIO(); print("ab", file=b); z = z + len(b.getvalue())
o = Mortal(); r = weakref.ref(o); del o; z = z + (r() is None)
d = weakref.WeakValueDictionary(); d["o"] = Mortal(); z = z + len(d)
o = Mortal(); o.n = k; r = weakref.ref(o); o = None; z = z * 2 if r() is None else z"""
