"""The tables of the effects of C callables, by module, by type and by name.

The longest entry decides: "module:Type.method" before "module:Type" before "module". Modules are named by the
callable's `__module__` (`os.getcwd.__module__` is "posix"). A module without an entry is unknown.
"""

from __future__ import annotations

from dynamo_lite.tracing.policy.verdicts import (
    ARRAYS,
    CALLS_BACK,
    EFFECT,
    LOCK,
    OPERATOR,
    PROCESS,
    PURE,
    RNG,
    UNRECORDABLE,
    WORLD,
    CallVerdict,
    mutates,
    opaque,
)


def _words(text: str) -> list[str]:
    return text.split()


def _each(names: str, verdict: CallVerdict) -> dict[str, CallVerdict]:
    return dict.fromkeys(names.split(), verdict)


MODULES: dict[str, CallVerdict] = {
    **_each(
        "builtins math cmath _operator operator itertools _functools functools _collections collections "
        "_collections_abc _sre re _json json _struct struct zlib _zlib binascii _hashlib hashlib _md5 _sha1 "
        "_sha2 _sha256 _sha512 _sha3 _blake2 hmac _bisect _heapq _datetime datetime _decimal decimal "
        "unicodedata _string string _weakref weakref _abc abc _stat stat _typing typing types array "
        "_contextvars contextvars errno _opcode marshal _pickle _statistics _codecs codecs _ast ast _symtable "
        "_tokenize _imp _uuid sys gc _csv _bz2 _lzma _multibytecodec _warnings _elementtree pyexpat _testcapi "
        "copyreg enum inspect reprlib numbers copy dataclasses _locale _thread _queue _asyncio _zoneinfo "
        "_suggestions _typing_extensions",
        PURE,
    ),
    **_each(
        "torch functorch pybind11_builtins torchgen",
        OPERATOR,
    ),
    "numpy": ARRAYS,
    "gmpy2": PURE,
    "numpy.random": UNRECORDABLE,
    "time": UNRECORDABLE,
    "_random": UNRECORDABLE,
    "random": UNRECORDABLE,
    "_uuid": UNRECORDABLE,
    **_each(
        "posix nt os _io io _socket _ssl select _posixsubprocess fcntl resource termios mmap _sqlite3 sqlite3 "
        "readline _curses syslog grp pwd _winapi winreg _multiprocessing _posixshmem _dbm _gdbm nis spwd crypt "
        "_interpreters",
        WORLD,
    ),
    **_each(
        "_signal signal atexit faulthandler _tracemalloc _lsprof",
        PROCESS,
    ),
}

_OWN_STATE = opaque(0)

TYPES: dict[str, CallVerdict] = {
    # Machines with an inner state, one method like the other.
    **_each(
        "_io:StringIO _io:BytesIO _io:FileIO _io:TextIOWrapper _io:BufferedReader _io:BufferedWriter "
        "_io:BufferedRandom _io:BufferedRWPair _io:_IOBase _io:_RawIOBase _io:_BufferedIOBase _io:_TextIOBase "
        "_io:IncrementalNewlineDecoder _queue:SimpleQueue zlib:Compress zlib:Decompress zlib:_ZlibDecompressor "
        "_bz2:BZ2Compressor _bz2:BZ2Decompressor _lzma:LZMACompressor _lzma:LZMADecompressor _csv:writer "
        "_csv:reader _csv:Writer _csv:Reader _pickle:Pickler _pickle:Unpickler _hashlib:HASH _hashlib:HMAC "
        "_hashlib:HASHXOF _md5:md5 _sha1:sha1 _sha256:sha256 _sha512:sha512 _sha3:sha3_256 _blake2:blake2b "
        "_blake2:blake2s _elementtree:XMLParser _elementtree:TreeBuilder pyexpat:xmlparser builtins:generator "
        "builtins:coroutine builtins:async_generator _asyncio:Future _asyncio:Task _struct:unpack_iterator "
        "_contextvars:Token _sre:SRE_Scanner",
        _OWN_STATE,
    ),
    **_each(
        "_random:Random",
        UNRECORDABLE,
    ),
    "torch._C:StorageBase": _OWN_STATE,
    **_each(
        "_thread:lock _thread:RLock",
        LOCK,
    ),
    # A generator of one of the program's frames is handled by the interpreter.
    "builtins:module": PURE,
}

_CALLERS = _words(
    "builtins:map builtins:filter builtins:sorted builtins:min builtins:max builtins:iter builtins:getattr "
    "builtins:hasattr builtins:isinstance builtins:issubclass builtins:property builtins:any builtins:all "
    "builtins:sum _functools:reduce _functools:partial _functools:cmp_to_key _functools:_lru_cache_wrapper "
    "itertools:starmap itertools:accumulate itertools:takewhile itertools:dropwhile itertools:filterfalse "
    "itertools:groupby _operator:methodcaller _operator:call re:Pattern.sub re:Pattern.subn _sre:Pattern.sub "
    "_json:make_scanner _json:make_encoder builtins:__build_class__ builtins:exec builtins:eval"
)

NAMES: dict[str, CallVerdict] = {
    **dict.fromkeys(_CALLERS, CALLS_BACK),
    **{
        f"torch._C:StorageBase.{name}": PURE
        for name in _words("element_size nbytes device is_shared resizable __len__")
    },
    # -- effects without a reader in the program
    **_each(
        "builtins:print sys:displayhook sys:audit _warnings:warn _warnings:warn_explicit",
        EFFECT,
    ),
    "time:sleep": EFFECT,
    # -- addresses, clocks, counters of the process
    **_each(
        "builtins:id sys:getrefcount sys:getsizeof sys:getallocatedblocks sys:_current_frames "
        "sys:_current_exceptions sys:call_tracing sys:_debugmallocstats sys:getunicodeinternedsize "
        "gc:get_objects gc:get_referrers gc:get_count gc:get_stats gc:get_freeze_count gc:get_debug "
        "_thread:get_ident _thread:get_native_id _thread:_count _thread:_is_main_interpreter posix:getpid "
        "posix:getppid posix:urandom posix:getrandom posix:times posix:getcwd posix:getcwdb posix:getloadavg "
        "posix:cpu_count posix:sched_getaffinity posix:getuid posix:geteuid posix:getgid posix:getegid "
        "posix:getlogin posix:uname posix:umask posix:nice _datetime:datetime.now _datetime:datetime.utcnow "
        "_datetime:datetime.today _datetime:date.today datetime:datetime.now datetime:datetime.utcnow "
        "datetime:datetime.today datetime:date.today builtins:object.__sizeof__",
        UNRECORDABLE,
    ),
    **_each(
        "time:mktime time:strptime time:struct_time time:gmtime_ time:get_clock_info time:asctime posix:fspath "
        "posix:strerror posix:get_terminal_size posix:WIFEXITED posix:WEXITSTATUS posix:WIFSIGNALED "
        "posix:WTERMSIG posix:stat_result posix:times_result posix:uname_result posix:terminal_size "
        "posix:device_encoding posix:get_inheritable posix:sysconf posix:fpathconf posix:pathconf posix:confstr "
        "_io:text_encoding numpy.random:default_rng numpy.random:RandomState numpy.random:PCG64 "
        "numpy.random:MT19937 numpy.random:SeedSequence numpy.random:Generator _random:Random "
        "builtins:generator.close builtins:coroutine.close _thread:allocate_lock _thread:allocate "
        "_thread:lock.locked _thread:RLock._is_owned "
        "_thread:lock.__repr__ _thread:RLock.__repr__ builtins:generator.__iter__ builtins:coroutine.__await__",
        PURE,
    ),
    # -- settings of the process
    **_each(
        "sys:settrace sys:setprofile sys:setswitchinterval sys:setrecursionlimit sys:set_int_max_str_digits "
        "sys:addaudithook sys:set_asyncgen_hooks sys:set_coroutine_origin_tracking_depth sys:setdlopenflags "
        "sys:excepthook sys:unraisablehook sys:breakpointhook builtins:breakpoint sys:_clear_type_cache "
        "sys:activate_stack_trampoline sys:deactivate_stack_trampoline gc:enable gc:disable gc:set_threshold "
        "gc:set_debug gc:freeze gc:unfreeze time:tzset _locale:setlocale _decimal:setcontext decimal:setcontext "
        "posix:putenv posix:unsetenv posix:chdir posix:fchdir posix:umask _codecs:register "
        "_codecs:register_error _codecs:unregister array:_register _csv:register_dialect "
        "_csv:unregister_dialect _csv:field_size_limit _typing:_idfunc_ _thread:stack_size "
        "_thread:interrupt_main _thread:start_new_thread _thread:start_new _thread:start_joinable_thread "
        "_thread:exit _imp:create_builtin _warnings:_filters_mutated_ marshal:_",
        PROCESS,
    ),
    **_each(
        "builtins:open builtins:input _io:open _io:open_code marshal:load marshal:dump _pickle:load "
        "_pickle:dump _io:FileIO",
        WORLD,
    ),
    # -- random number generators
    **_each(
        "_random:Random.seed _random:Random.setstate numpy.random:seed numpy.random:set_state "
        "numpy.random:shuffle numpy.random:RandomState.seed numpy.random:RandomState.shuffle "
        "numpy.random:RandomState.set_state numpy.random:Generator.shuffle numpy.random:Generator.spawn "
        "numpy.random:BitGenerator.spawn numpy.random:SeedSequence.spawn numpy.random:PCG64.advance "
        "numpy.random:PCG64DXSM.advance numpy.random:Philox.advance numpy.random:MT19937._legacy_seeding",
        RNG,
    ),
    # -- arguments changed
    **{f"_heapq:{name}": mutates(0) for name in _words("heappush heappop heapify heapreplace heappushpop")},
    **{  # public in 3.14
        f"_heapq:{name}": mutates(0)
        for name in _words("heappush_max heappop_max heapify_max heapreplace_max heappushpop_max")
    },
    **{f"_heapq:{name}": mutates(0) for name in _words("_heappop_max _heapify_max _heapreplace_max")},
    **{f"_bisect:{name}": mutates(0, "a") for name in ["insort", "insort_left", "insort_right"]},
    **{
        f"_operator:{name}": mutates(0)
        for name in _words(
            "setitem delitem iadd iconcat imul ior iand isub ixor imatmul ifloordiv itruediv imod ipow ilshift irshift"
        )
    },
    "_collections:_count_elements": mutates(0),
    "_struct:pack_into": mutates(1, part="memory"),
    "_struct:Struct.pack_into": mutates(1, part="memory"),
    "_abc:_abc_register": opaque(0),
    "_abc:_abc_init": opaque(0),
    "_abc:_reset_registry": opaque(0),
    "_abc:_reset_caches": opaque(0),
    "_contextvars:Context.run": opaque(0),
    "_contextvars:ContextVar.reset": opaque(1),
    "_decimal:Context.clear_flags": opaque(0),
    "_decimal:Context.clear_traps": opaque(0),
    "decimal:Context.clear_flags": opaque(0),
    "decimal:Context.clear_traps": opaque(0),
    **{f"_functools:partial.{name}": opaque(0) for name in ("__setstate__",)},
    **{f"functools:partial.{name}": opaque(0) for name in ("__setstate__",)},
    **{f"builtins:{name}.__setstate__": opaque(0) for name in ("BaseException", "object")},
    "builtins:BaseException.add_note": mutates(0, part="attributes"),
    # -- a C descriptor's own `__set__(descriptor, object, value)` and `__delete__`
    **{
        f"builtins:{kind}.{name}": mutates(1, part="members")
        for kind in ("member_descriptor", "getset_descriptor")
        for name in ("__set__", "__delete__")
    },
    # -- numpy: in place
    **{
        f"numpy:ndarray.{name}": mutates(0, part="memory")
        for name in _words(
            "__setitem__ fill sort partition put itemset setfield byteswap __iadd__ __isub__ __imul__ "
            "__itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__ "
            "__imatmul__"
        )
    },
    **{f"numpy:ndarray.{name}": opaque(0) for name in _words("resize setflags __setstate__ __delitem__")},
    **{f"numpy:{name}": mutates(0, "dst", part="memory") for name in ("copyto",)},
    **{f"numpy:{name}": mutates(0, "a", part="memory") for name in _words("put putmask place fill_diagonal")},
    **{f"numpy:ufunc.{name}": mutates(1, part="memory") for name in ("at",)},
    "numpy:flatiter.__setitem__": mutates(0, part="memory"),
    **_each(
        "numpy:load numpy:save numpy:savez numpy:fromfile numpy:loadtxt numpy:savetxt numpy:memmap "
        "numpy:ndarray.tofile numpy:ndarray.dump numpy:genfromtxt",
        WORLD,
    ),
    **_each(
        "numpy:set_printoptions numpy:seterr numpy:seterrcall numpy:setbufsize",
        PROCESS,
    ),
}
