"""Which Python functions CPython may evaluate itself during a trace.

Trusted is code that neither calls back into the program nor keeps state that the program can see: torch's Python
layer, numpy, and a few modules of the standard library that only look at things. Everything else is interpreted.
A function is judged by the module that its *globals* belong to, so that a decorator's wrapper is judged by where the
decorator is defined, not by the name that functools.wraps gave it.
"""

from __future__ import annotations

import inspect
import traceback
from types import FunctionType

# Module prefixes whose functions run natively. The longest prefix that matches decides.
TRUSTED: dict[str, bool] = {
    "torch": True,
    # These call what the program gives them: modules, hooks, parametrizations, decorated functions, tree-mapped ones.
    "torch.nn.modules": False,
    "torch.nn.attention.bias": False,
    "torch.nn.attention.flex_attention": False,
    "torch.nn.parallel": False,
    "torch.nn.utils": False,
    "torch.nn.utils.rnn": True,
    "torch.ao.nn": False,
    "torch.ao.quantization": False,
    "torch.amp": False,
    "torch.autograd": False,
    "torch._functorch": False,
    "torch._dynamo._trace_wrapped_higher_order_op": False,
    "torch._higher_order_ops": False,
    "torch.func": False,
    "torch.distributed.tensor.experimental._func_map": False,
    "torch.distributions": False,
    "torch.overrides": True,
    "torch.random": False,
    "torch.testing": False,
    "torch.utils._contextlib": False,
    "torch.utils._pytree": False,
    "torch.utils._cxx_pytree": False,
    "torch.utils.checkpoint": False,
    "torch.utils.hooks": False,
    "torch._compile": False,
    "torch._export.db.examples": False,  # programs
    # Array code; the numbers in it are constants of the program.
    "numpy": True,
    # The standard library where it only looks: text, source, types, paths.
    "_sitebuiltins": True,
    "ast": True,
    "codecs": True,
    "encodings": True,
    "importlib": True,
    "inspect": True,
    "json": True,
    "linecache": True,
    "locale": True,
    "logging": True,
    "ntpath": True,
    "pathlib": True,
    "posixpath": True,
    "re": True,
    "string": True,
    "textwrap": True,
    "tokenize": True,
    "traceback": True,
    "typing": True,
    "typing_extensions": True,
    "warnings": True,
}

# Modules that the tracer itself is made of: an interpreted frame of ours would be a bug, and is not the program's.
TRUSTED |= dict.fromkeys(("dynamo_lite.tracing", "dynamo_lite.capture", "dynamo_lite.program"), True)
# Sizes: C code calls their methods, and what they remember (sympy's caches above all) is nothing of the program's.
TRUSTED |= dict.fromkeys(("symbolic_shapes", "sympy", "mpmath"), True)

_by_module: dict[str, bool] = {}


def is_trusted_module(name: str) -> bool:
    """Whether functions whose globals are those of module `name` run natively."""
    known = _by_module.get(name)
    if known is None:
        prefix, known = name, False
        while prefix:
            if prefix in TRUSTED:
                known = TRUSTED[prefix]
                break
            prefix = prefix.rpartition(".")[0]
        _by_module[name] = known
    return known


def is_trusted(fn: FunctionType) -> bool:
    """Whether CPython may evaluate `fn` during a trace."""
    name = fn.__globals__.get("__name__")
    return isinstance(name, str) and is_trusted_module(name)


_FRAME_ASKERS = frozenset(
    fn.__code__
    for fn in (
        *(inspect.currentframe, inspect.stack, inspect.trace),
        *(traceback.extract_stack, traceback.format_stack, traceback.print_stack, traceback.walk_stack),
    )
)


def asks_for_frames(fn: FunctionType) -> bool:
    """Whether `fn`, of a trusted module, looks at the frames of its caller: natively it would find those of ours."""
    return fn.__code__ in _FRAME_ASKERS
