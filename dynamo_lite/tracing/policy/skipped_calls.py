"""Calls with a rule of their own: what to skip, what to refuse, what may not matter.

Data only; tracing/calls/registry.py reads it. Functions are named by "module:qualified.name" so that nothing is
imported that the program has not imported itself: a module that is not loaded cannot be called.
"""

from __future__ import annotations

# Bookkeeping of torch's own whose changes no program can see: dropped. "module:Class.attribute", or "module:name" for
# a global.
INVISIBLE: frozenset[str] = frozenset(
    {
        "torch.utils.hooks:RemovableHandle.next_id",
        "torch.fx.graph_module:_EvalCacheLoader.next_id",
        "torch.nn.utils.parametrize:_cache",
        "torch.nn.utils.parametrize:_cache_enabled",
        "torch.autograd.profiler:_cupti_monitor_checked",
        "torch.autograd.profiler:_cupti_monitor_module",
        "builtins:function.__dynamo_disable",  # what torch/_compile.py finds on its first call (torch 2.13.0)
    }
)

# Those that torch sets at the first use, and that no result depends on: they have no guards.
UNGUARDED: frozenset[str] = frozenset(
    {"torch.autograd.profiler:_cupti_monitor_checked", "torch.autograd.profiler:_cupti_monitor_module"}
)

# Where the texts of code that is made at run time are kept for tracebacks: a text that a program puts there (by a
# GraphModule that it makes, by a class of attrs) is dropped with a note; any other entry is an effect like all others.
SOURCE_TEXTS: tuple[str, ...] = ("linecache:cache", "torch.fx.graph_module:_loader.eval_cache")

# Talks to the outside and returns nothing that the program could use: skipped, with a note.
SKIPPED: tuple[str, ...] = (
    "torch:_C._log_api_usage_once",
    "torch._C:_log_api_usage_once",
)

# Differs from call to call: gives an Unrecordable (nondeterministic.py), refused where it is used.
UNRECORDABLE: tuple[str, ...] = (
    "time:time",
    "time:time_ns",
    "time:perf_counter",
    "time:perf_counter_ns",
    "time:monotonic",
    "time:monotonic_ns",
    "time:process_time",
    "time:process_time_ns",
    "time:localtime",
    "time:gmtime",
    "time:ctime",
    "time:strftime",
    "datetime:datetime.now",
    "datetime:datetime.utcnow",
    "datetime:datetime.today",
    "datetime:date.today",
    "os:urandom",
    "posix:urandom",
    "os:getpid",
    "uuid:uuid1",
    "uuid:uuid4",
    "secrets:token_bytes",
    "secrets:token_hex",
    "secrets:randbelow",
    *(f"random:SystemRandom.{name}" for name in ("random", "getrandbits", "randbytes")),
    "random:Random.getstate",
    "random:Random.random",
    "_random:Random.random",
    "_random:Random.getrandbits",
    "random:Random.uniform",
    "random:Random.randint",
    "random:Random.randrange",
    "random:Random.choice",
    "random:Random.choices",
    "random:Random.sample",
    "random:Random.gauss",
    "random:Random.normalvariate",
    "random:Random.betavariate",
    "random:Random.expovariate",
    "random:Random.triangular",
    "numpy.random:rand",
    "numpy.random:randn",
    "numpy.random:random",
    "numpy.random:randint",
    "numpy.random:uniform",
    "numpy.random:normal",
    "numpy.random:choice",
    "numpy.random:permutation",
    "numpy.random:random_sample",
    "numpy.random:standard_normal",
    "torch:initial_seed",
    "torch:seed",
    "torch:get_rng_state",
    "torch:random.get_rng_state",
    "torch:random.initial_seed",
    "torch:random.seed",
    "torch.cuda:get_rng_state",
)

# Take their seed from the system where none is given.
SEEDED: tuple[str, ...] = (
    "numpy.random:default_rng",
    "numpy.random:RandomState",
    "numpy.random:SeedSequence",
    "numpy.random:Generator",
    *(f"numpy.random:{name}" for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")),
)

# Methods of a torch.Generator: fine on one that the program itself has made.
OF_GENERATORS: tuple[str, ...] = (
    "torch._C:Generator.get_state",
    "torch._C:Generator.initial_seed",
    "torch._C:Generator.manual_seed",
    "torch._C:Generator.seed",
    "torch._C:Generator.set_state",
)

# Changes a generator's state outside of the program.
GLOBAL_RNG: tuple[str, ...] = (
    "random:Random.seed",
    "random:Random.shuffle",
    "random:Random.setstate",
    "numpy.random:seed",
    "numpy.random:shuffle",
    "torch:manual_seed",
    "torch.random:fork_rng",
    "torch:random.manual_seed",
    "torch:set_rng_state",
    "torch:random.set_rng_state",
    "torch.cuda:manual_seed",
    "torch.cuda:manual_seed_all",
)

# Runs code elsewhere than in the program's own frames, or later.
BACKGROUND: tuple[str, ...] = (
    "threading:Thread.__init__",
    "threading:Thread.start",
    "_thread:start_new_thread",
    "_thread:start_joinable_thread",
    "concurrent.futures.thread:ThreadPoolExecutor.__init__",
    "concurrent.futures.thread:ThreadPoolExecutor.submit",
    "concurrent.futures.process:ProcessPoolExecutor.__init__",
    "concurrent.futures.process:ProcessPoolExecutor.submit",
    "multiprocessing.process:BaseProcess.__init__",
    "multiprocessing.process:BaseProcess.start",
    "multiprocessing.pool:Pool.__init__",
    "multiprocessing.context:BaseContext.Pool",
    "multiprocessing.context:BaseContext.Manager",
    "subprocess:Popen.__init__",
    "asyncio.runners:run",
    "asyncio.runners:Runner.__init__",
    "asyncio.base_events:BaseEventLoop.__init__",
    "asyncio.base_events:BaseEventLoop.run_until_complete",
    "weakref:finalize.__init__",
)

# Changes settings of the process that a later call, or the operators themselves, would see.
PROCESS_STATE: tuple[str, ...] = (
    "os:_Environ.__setitem__",
    "os:_Environ.__delitem__",
    "os:putenv",
    "os:unsetenv",
    "os:chdir",
    "torch:set_default_dtype",
    "torch:set_default_device",
    "torch:set_default_tensor_type",
    "torch:set_num_threads",
    "torch:set_float32_matmul_precision",
    "torch:set_printoptions",
    "sys:setrecursionlimit",
    "importlib:reload",
    "locale:setlocale",
    "logging:Logger.setLevel",
    "logging:Logger.addHandler",
    "logging:Logger.removeHandler",
    "logging:Logger.addFilter",
    "logging:Logger.removeFilter",
    "logging:Handler.setLevel",
    "logging:basicConfig",
    "logging:disable",
    "logging:captureWarnings",
    "warnings:showwarning",
    "atexit:register",
    "signal:signal",
    "torch:set_num_interop_threads",
    "torch.compiler:set_stance",
    "torch:set_flush_denormal",
    "torch:set_warn_always",
    "torch:set_deterministic_debug_mode",
    "torch.autograd:set_multithreading_enabled",
    *(
        f"torch.library:{name}"
        for name in (
            *("Library.__init__", "Library.define", "Library.impl", "define", "impl", "custom_op", "triton_op"),
            *("register_fake", "register_autograd", "register_kernel", "register_vmap", "register_torch_dispatch"),
        )
    ),
)

# Files, processes and the network, by Python functions that run natively (native_modules.py).
OUTSIDE_WORLD: tuple[str, ...] = (
    "torch:save",
    "torch:load",
    "torch._C:PyTorchFileReader",
    "torch._C:PyTorchFileWriter",  # for an argument that is not a file, it ends the process, in eager too
    "torch.jit:save",
    "torch.jit:load",
    "torch.hub:load",
    "torch.hub:load_state_dict_from_url",
    *(
        f"pathlib:Path.{name}"
        for name in (
            *("write_text", "write_bytes", "stat", "lstat", "iterdir", "glob", "rglob", "unlink", "rename", "replace"),
            *("rmdir", "touch", "chmod"),
            *("resolve", "cwd", "home", "samefile"),
        )
    ),
    *(
        f"numpy:{name}"
        for name in ("load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "fromfile", "genfromtxt")
    ),
)

# Looks at a tensor's data or address without going through an operator.
READS_DATA: tuple[str, ...] = (
    "torch._C:TensorBase.data_ptr",
    "torch._C:TensorBase.const_data_ptr",
    "torch._C:TensorBase.__array__",
    "torch:Tensor.__array__",
    "torch:Tensor.storage",
    "torch:Tensor.__reduce_ex__",
    "torch._C:TensorBase.untyped_storage",
    "torch._C:TensorBase.is_set_to",
    "torch.storage:_load_from_bytes",
    "torch:Tensor.share_memory_",
)

# Which function modes are active: those of the trace are left out (type_queries.py).
READS_FUNCTION_MODES: tuple[str, ...] = (
    "torch.overrides:_get_current_function_mode",
    "torch.overrides:_get_current_function_mode_stack",
    "torch._C:_len_torch_function_stack",
    "torch._C:_get_function_stack_at",
    "torch._C:_is_torch_function_mode_enabled",
)

# Which dispatch modes are active: those of the trace would be among them. torch's own functions ask as well.
READS_MODES: tuple[str, ...] = (
    "torch.utils._python_dispatch:_get_current_dispatch_mode",
    "torch.utils._python_dispatch:_get_current_dispatch_mode_stack",
    "torch._C:_len_torch_dispatch_stack",
    "torch._C:_get_dispatch_mode",
    "torch._guards:detect_fake_mode",
    "torch._guards:active_fake_mode",
)

# Runs a Python function, from C, on each element of the memory: a fake tensor has none, and the user's tensors would be
# written into. Refused for all callers.
CALLS_ON_DATA: tuple[str, ...] = (
    "torch._C:TensorBase.apply_",
    "torch._C:TensorBase.map_",
    "torch._C:TensorBase.map2_",
)

# Shares the memory of a tensor with other code, from C (shared_memory.py).
EXCHANGES_MEMORY: tuple[str, ...] = (
    "torch:from_dlpack",
    "torch.utils.dlpack:from_dlpack",
    "torch.utils.dlpack:to_dlpack",
    "torch._C:_from_dlpack",
    "torch._C:_to_dlpack",
    "torch._C:_to_dlpack_versioned",
    "torch._C:TensorBase._to_dlpack",
    "torch:Tensor.__dlpack__",
    "numpy:from_dlpack",
)

# torch's own questions "am I being exported?": yes.
TRUE_WHILE_TRACING: tuple[str, ...] = (
    "torch.compiler:is_compiling",
    "torch.compiler:is_exporting",
    "torch.compiler:is_dynamo_compiling",
    "torch._dynamo.external_utils:is_compiling",
    "torch._dynamo:is_compiling",
    "torch._utils:is_compiling",
)

# Tangents are computed below the operators: features/forward_ad.py has the rules, and strict=False refuses them.
DUAL_NUMBERS: tuple[str, ...] = (
    "torch.autograd.forward_ad:enter_dual_level",
    "torch.autograd.forward_ad:make_dual",
)

# Operators that take functions; captured in a later version.
HIGHER_ORDER: tuple[str, ...] = (
    "torch.func:linearize",
)

# How a class is flattened that an export made a container (program/trees/containers.py): the program's own pytree
# knew it as
# a leaf.
AUTOMATIC_CONTAINERS: tuple[str, ...] = (
    "dynamo_lite.program.trees.containers:_flatten",
    "dynamo_lite.program.trees.containers:_flatten_with_keys",
)

# Makes tensors of ragged sizes, which no fake tensor has.
NESTED: tuple[str, ...] = (
    "torch.nested:nested_tensor",
    "torch.nested:as_nested_tensor",
    "torch.nested:nested_tensor_from_jagged",
    "torch.nested:narrow",
    "torch.nested:masked_select",
)

# What runs below the operators that a trace records, and changes what they do.
DISPATCH_MODES: tuple[str, ...] = (
    "torch.utils._python_dispatch:TorchDispatchMode.__enter__",
    "torch.utils._python_dispatch:_push_mode",
)

# Runs the autograd engine for its effect on `.grad`: features/training has the rules, and strict=False refuses them.
BACKWARD: tuple[str, ...] = (
    "torch.autograd:backward",
    "torch:Tensor.backward",
)
