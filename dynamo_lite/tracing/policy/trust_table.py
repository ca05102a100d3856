"""The Python code of libraries that CPython may evaluate itself during a trace, and why: data only.

`native_modules.py` reads it; `python -m dynamo_lite.tracing.policy.native_modules` prints it. The longest row that
matches decides: a module before the package around it.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class TrustLevel(Enum):
    """How far a module is trusted.

    BELOW      the implementation of operators, tensors and sizes, and this tracer: run natively as a whole
    STATELESS  run natively, except for functions found to keep state (native_modules.py): these are interpreted
    STATE      keeps state that a program can see: interpreted, so that its reads and writes are journaled
    CALLS      calls arguments of the program (modules, hooks, functions): interpreted
    """

    BELOW = "below the operators"
    STATELESS = "stateless by inspection"
    STATE = "keeps state"
    CALLS = "calls the program"


class Trust(NamedTuple):
    level: TrustLevel
    reason: str


def _rows(level: TrustLevel, reason: str, names: str) -> dict[str, Trust]:
    return dict.fromkeys(names.split(), Trust(level, reason))


_TORCH: dict[str, Trust] = {
    **_rows(
        TrustLevel.STATE,
        "no other row names it",
        "torch functorch torchgen",
    ),
    **_rows(
        TrustLevel.BELOW,
        "computes results of operators, below what is recorded",
        "torch._C torch._custom_op torch._custom_ops torch._decomp torch._dispatch torch._library torch._linalg_utils "
        "torch._lobpcg torch._lowrank torch._meta_registrations torch._native torch._ops torch._prims "
        "torch._prims_common torch._python_dispatcher torch._refs torch._subclasses torch._tensor_iterator torch._VF "
        "torch._classes torch._opaque_base",
    ),
    **_rows(
        TrustLevel.BELOW,
        "tensors, sizes and their types: methods come down to operators, what they keep is the tensor's",
        "torch._tensor torch._tensor_str torch._numpy torch.storage torch.nn.parameter torch.nested torch.masked "
        "torch.types torch.return_types torch.overrides torch.utils._device torch.utils._python_dispatch "
        "torch.utils._mode_utils torch.fx.experimental torch.utils._sympy",
    ),
    **_rows(
        TrustLevel.BELOW,
        "the compiler stack: looks at code, and at nothing of the program's state",
        "torch._dynamo torch._export torch.export torch._inductor torch._guards torch._jit_internal torch._lazy "
        "torch._logging torch._sources torch._strobelight torch._utils torch._utils_internal torch._vendor torch.jit "
        "torch.compiler torch.utils._stats torch.utils._traceback torch.utils._config_module torch._environment "
        "torch._thread_safe_fork torch._awaits torch.utils._triton torch.utils._typing_utils torch.utils._exposed_in "
        "torch.utils._import_utils torch.utils._inspect torch.utils._functools torch.utils._thunk",
    ),
    **_rows(
        TrustLevel.BELOW,
        "settings that C keeps; compared at the end of a trace (process_state.py), or refused (skipped_calls.py)",
        "torch.accelerator torch.backends torch.cpu torch.cuda torch.mps torch.mtia torch.xpu torch._streambase "
        "torch.version torch.torch_version torch.__config__ torch.__future__ torch.nn.attention torch.numa",
    ),
    **_rows(
        TrustLevel.BELOW,
        "process groups and sharded tensors, whose collectives have rules of their own (kernels/collectives.py)",
        "torch.distributed",
    ),
    **_rows(
        TrustLevel.STATE,
        "parts of training around torch.distributed: objects with state, which call modules",
        "torch.distributed.algorithms torch.distributed.checkpoint torch.distributed.elastic torch.distributed.fsdp "
        "torch.distributed.optim torch.distributed.pipelining torch.distributed.rpc torch.distributed.launcher "
        "torch.distributed.autograd torch.distributed._composable torch.distributed._tools",
    ),
    **_rows(
        TrustLevel.STATELESS,
        "functions of tensors and numbers",
        "torch.functional torch.nn.functional torch.nn._reduction torch.nn.grad torch.nn.init torch.nn.utils.rnn "
        "torch.fft torch.linalg torch.special torch.signal torch.sparse torch.quasirandom torch.utils.dlpack torch.nn "
        "torch.utils._foreach_utils torch.utils._dtype_abbrs torch.serialization torch.hub",
    ),
    "torch:": Trust(
        TrustLevel.BELOW, "functions of numbers, settings and types; those that change a setting are refused"
    ),
    "torch.utils:": Trust(TrustLevel.BELOW, "names for functions of other modules"),
    **_rows(
        TrustLevel.CALLS,
        "calls what the program gives it: modules, hooks, parametrizations, decorated functions, tree-mapped ones",
        "torch.nn.modules torch.nn.attention.bias torch.nn.attention.flex_attention torch.nn.parallel torch.nn.utils "
        "torch.ao.nn torch.ao.quantization torch.amp torch.autograd torch._functorch torch._higher_order_ops "
        "torch.func torch.distributions torch.random torch.testing torch.utils._contextlib torch.utils._pytree "
        "torch.utils._cxx_pytree torch.utils.checkpoint torch.utils.hooks torch.utils.data torch._compile "
        "torch.utils.mkldnn torch._vmap_internals torch.cuda.amp torch._dynamo._trace_wrapped_higher_order_op "
        "torch.distributed.tensor.experimental._func_map",
    ),
    "torch._export.db.examples": Trust(TrustLevel.CALLS, "examples: programs themselves"),
}

_NUMPY: dict[str, Trust] = {
    **_rows(
        TrustLevel.STATE,
        "no other row names it",
        "numpy",
    ),
    **_rows(
        TrustLevel.STATELESS,
        "functions of arrays; the numbers in these are constants of the program",
        "numpy: numpy._core numpy.core numpy.lib numpy.linalg numpy.fft numpy._utils numpy._globals numpy.dtypes "
        "numpy.exceptions numpy.strings numpy.char numpy.rec numpy.matrixlib numpy._typing numpy.typing numpy.version",
    ),
    **_rows(
        TrustLevel.BELOW,
        "keeps only tables of constants, and objects that live as long as one call",
        "numpy._core.getlimits numpy._core.arrayprint numpy._core._exceptions numpy._core._internal numpy.exceptions "
        "numpy._globals numpy.lib._iotools",
    ),
}

_STANDARD_LIBRARY: dict[str, Trust] = _rows(
    TrustLevel.BELOW,
    "the standard library where it only looks: text, source, types, paths",
    "_sitebuiltins ast codecs encodings importlib inspect json linecache locale logging ntpath pathlib posixpath re "
    "string textwrap tokenize traceback typing typing_extensions warnings",
)

_OURS: dict[str, Trust] = {
    **_rows(
        TrustLevel.BELOW,
        "the tracer: an interpreted frame of it would be a bug",
        "dynamo_lite.tracing dynamo_lite.capture dynamo_lite.program dynamo_lite.explanation",
    ),
    **_rows(
        TrustLevel.BELOW,
        "sizes: C code calls their methods, and what they remember (sympy's caches) is nothing of the program's",
        "dynamo_lite.symbolic_shapes sympy mpmath",
    ),
}

TABLE: dict[str, Trust] = {**_TORCH, **_NUMPY, **_STANDARD_LIBRARY, **_OURS}
"""Module, or module with a colon (without the modules below it) → how it is trusted."""

UNKNOWN = Trust(TrustLevel.CALLS, "a module of the program, or of a library that no row names")
