"""The symbolic dispatch cache: a hit is what the operator would have given, and each reason not to cache."""

import gc
import weakref

import pytest
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import make_fx

from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import Bypass, SymbolicCache, fake_mode, graph_break, install
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, create_symbolic_tensor
from dynamo_lite.symbolic_shapes.torch_node.query_kinds import KERNELS
from tests.symbolic_shapes import cache_programs

aten = torch.ops.aten


@pytest.fixture
def env() -> TorchShapeEnv:
    return TorchShapeEnv()


@pytest.fixture
def mode(env: TorchShapeEnv) -> torch._subclasses.FakeTensorMode:
    return fake_mode(env)


@pytest.fixture
def cache(mode) -> SymbolicCache:
    return mode.symbolic_cache


@pytest.fixture
def x(mode) -> torch.Tensor:
    return create_symbolic_tensor(mode, torch.zeros(6, 4), [Fresh(), Fresh()])


def memory(t: torch.Tensor) -> int:
    return t.untyped_storage()._cdata


def metadata(t: torch.Tensor) -> tuple:
    parts = (*t.shape, *t.stride(), t.storage_offset())
    return t.dtype, t.device, tuple(s.node if isinstance(s, torch.SymInt) else s for s in parts)


CALLS = {
    "pointwise": lambda x: x + 1,
    "matmul": lambda x: x @ x.t(),
    "reduction": lambda x: x.sum(0),
    "several results": lambda x: torch.var_mean(x, 1),
    "a named tuple": lambda x: aten.native_layer_norm(x, [x.shape[1]], None, None, 1e-5),
    "a list": lambda x: aten.unbind.int(x[:3], 0),
    "a view": lambda x: x.view(-1),
    "a slice": lambda x: x[1:, ::2],
    "transposed": lambda x: x.t(),
    "expanded": lambda x: x.unsqueeze(0).expand(3, -1, -1),
    "another dtype": lambda x: x.to(torch.float16),
    "a factory": lambda x: x.new_zeros(x.shape[0] * 2),
    "cat": lambda x: torch.cat([x, x], 1),
    "channels last": lambda x: x.view(x.shape[0], x.shape[1], 1, 1).contiguous(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_hit_is_what_the_operator_gives(env, mode, cache, x, name: str) -> None:
    call = CALLS[name]
    with mode:
        first = call(x)
        hits = cache.hits
        second = call(x)
        cache.enabled = False
        third = call(x)
    assert cache.hits > hits
    assert type(first) is type(second) is type(third)
    flat = [r if isinstance(r, (tuple, list)) else (r,) for r in (first, second, third)]
    for a, b, c in zip(*flat):
        assert metadata(a) == metadata(b) == metadata(c)
        assert b.untyped_storage().nbytes() == c.untyped_storage().nbytes()
        assert (memory(a) == memory(x)) == (memory(b) == memory(x)) == (memory(c) == memory(x))
        assert b._version == c._version and b._is_view() == c._is_view() and b.requires_grad == c.requires_grad


def test_hits_do_not_share_memory(mode, cache, x) -> None:
    with mode:
        results = [x + 1 for _ in range(3)]
    assert cache.hits == 2
    assert len({memory(t) for t in [x, *results]}) == 4


def test_an_entry_does_not_keep_the_first_result_alive(mode, cache, x) -> None:
    with mode:
        first = x + 1
    storage = weakref.ref(first)
    del first
    gc.collect()
    assert storage() is None
    with mode:
        assert memory(x + 1) != memory(x)


def test_views_share_the_memory_and_the_version_of_their_base(mode, cache, x) -> None:
    with mode:
        one, two = x.view(-1), x.view(-1)
        assert cache.hits == 1
        two.add_(1)
    assert memory(one) == memory(two) == memory(x)
    assert two._base is x and x._version == two._version == one._version == 1


def test_a_view_hit_is_of_its_own_base(mode, cache, x) -> None:
    with mode:
        y = x.clone()
        x.view(-1)
        assert memory(y.view(-1)) == memory(y) != memory(x)
    assert cache.hits == 1


def test_results_that_share_memory_with_each_other_still_do(mode, cache, x) -> None:
    with mode:
        for _ in range(2):
            a, b = torch.split(x + 1, 2, 1)[:2]
            assert memory(a) == memory(b)


def test_autograd_works_on_hits(mode, cache) -> None:
    w = create_symbolic_tensor(mode, torch.zeros(6, 4, requires_grad=True), [Fresh(), Fresh()])
    with mode:
        plain = w.detach() * 2
        y = w * 2
        (g,) = torch.autograd.grad((y.view(-1) + y.view(-1)).sum(), w)
    assert not plain.requires_grad and y.requires_grad and cache.hits, "the key leaves requires_grad out"
    assert metadata(g) == metadata(w)


# -- what makes another key -----------------------------------------------------------------------------------------
def test_keys_tell_apart_what_the_result_depends_on(mode, cache, x) -> None:
    with mode:
        assert (x + 1).dtype != (x.to(torch.int64) + 1).dtype
        assert (x.to(torch.int64) + 1).dtype != (x.to(torch.int64) + 1.0).dtype
        assert (x > True).dtype == (x > 1).dtype
        assert [str(s) for s in (x + 1).stride()] != [str(s) for s in (x.t() + 1).stride()]
        assert x.sum(0).shape != x.sum(1).shape
        torch.add(x, x)
        torch.add(x, x.clone())


def test_the_default_dtype_is_part_of_the_key(mode, x) -> None:
    with mode:
        narrow = aten.full.default([x.shape[0]], 1.0)
        torch.set_default_dtype(torch.float64)
        try:
            wide = aten.full.default([x.shape[0]], 1.0)
        finally:
            torch.set_default_dtype(torch.float32)
    assert (narrow.dtype, wide.dtype) == (torch.float32, torch.float64)


def test_inference_mode_is_part_of_the_key(mode, x) -> None:
    with mode:
        assert not (x + 1).is_inference()
        with torch.inference_mode():
            assert (x + 1).is_inference()


# -- facts -------------------------------------------------------------------------------------------------------------
def test_a_rollback_makes_the_operator_ask_again(env, mode, x) -> None:
    token = env.core.snapshot()
    with mode:
        x.squeeze()
        recorded = [str(f.relation) for f in env.core.facts]
        assert recorded
        x.squeeze()
        env.core.rollback(token)
        assert not env.core.facts
        x.squeeze()
    assert [str(f.relation) for f in env.core.facts] == recorded


def test_answers_under_suppression_are_not_kept(env, mode, cache, x) -> None:
    with mode, env.suppress_guards():
        x.squeeze()
    assert cache.bypasses["answers are suppressed"] and not env.core.facts
    with mode:
        x.squeeze()
    assert env.core.facts, "the run outside asks and records"


def test_an_equation_makes_results_simpler(env, mode, cache) -> None:
    a = create_symbolic_tensor(mode, torch.zeros(6), [Fresh()])
    b = create_symbolic_tensor(mode, torch.zeros(6), [Fresh()])
    with mode:
        before = torch.cat([a, b])
        hits = cache.hits
        assert a.shape[0] == b.shape[0]
        after = torch.cat([a, b])
    assert cache.hits == hits
    assert before.shape[0].node.expr == after.shape[0].node.expr


# -- bypass rules -----------------------------------------------------------------------------------------------------
BYPASSES = {
    "output shape depends on data": lambda x: torch.nonzero(x),
    "changes the metadata of its argument": lambda x: x.clone().t_(),
    "changes its argument": lambda x: x.clone().add_(1),
    "a view as another dtype": lambda x: x.view(torch.int32),
    "a symbolic float or bool": lambda x: torch.full((2, x.shape[0]), x.shape[0] / 2),
}


@pytest.mark.parametrize("reason", BYPASSES)
def test_bypassed(mode, cache, x, reason: str) -> None:
    with mode:
        BYPASSES[reason](x)
        BYPASSES[reason](x)
    assert cache.bypasses[reason] >= 2


@pytest.mark.parametrize("operator, reason", [
    (aten._local_scalar_dense.default, "data dependent output"),
    (torch.ops.higher_order.cond, "a higher-order operator"),
    (aten.lift_fresh.default, "lifts a real tensor"),
    (aten.view_as_real.default, "a view as another dtype"),
    (aten.add.Tensor, None),
    (aten.view.default, None),
])
def test_operators_that_are_never_cached(mode, operator, reason: str | None) -> None:
    assert graph_break(operator, mode) == reason


def test_an_operator_that_returns_its_argument(cache, x) -> None:
    for _ in range(2):
        assert cache.dispatch(aten.to.dtype, (), (x, torch.float32), {}) is x
    assert cache.bypasses["returns its argument"] == 2


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_sparse_tensors_are_neither_keys_nor_results(mode, cache, x) -> None:
    with mode:
        sparse = torch.sparse_coo_tensor(torch.zeros(1, 3, dtype=torch.int64), torch.zeros(3), (x.shape[0],))
        dense = x.sum(1)
    with pytest.raises(Bypass, match="not a strided tensor"):
        cache._tensor_key([], sparse)
    with pytest.raises(Bypass, match="not plainly strided"):
        cache._check_output(sparse, [dense])
    cache._tensor_key([], dense)
    cache._check_output(dense, [])


def test_conjugate_views_keep_their_bit(mode, cache, x) -> None:
    with mode:
        z = x.to(torch.complex64)
        assert z.conj().is_conj() and z.conj().is_conj()
        assert (z.conj() + 1).dtype == (z + 1).dtype and not (z + 1).is_conj()


def test_known_values_are_a_part_of_the_key(mode, cache, x) -> None:
    """An operator that is made of others may read the value."""
    with mode:
        one, also_one, two = torch.tensor(1), torch.tensor(1), torch.tensor(2)
        assert one.constant is not None
        before = cache.hits
        x * one
        x * also_one
        assert cache.hits == before + 1
        x * two
        assert cache.hits == before + 1


def test_real_tensors_are_not_keys(env) -> None:
    mode = fake_mode(env, allow_non_fake_inputs=True)
    x = create_symbolic_tensor(mode, torch.zeros(6, 4), [Fresh(), None])
    real = torch.ones(4)
    with mode:
        aten.mul.Tensor(x, real)
    assert mode.symbolic_cache.bypasses["a tensor that is not fake"]


def test_an_alias_that_is_no_view_operator_keeps_the_memory(mode, cache, x) -> None:
    with mode:
        for _ in range(2):
            assert memory(aten._reshape_alias.default(x, x.shape, x.stride())) == memory(x)
    assert cache.hits


def test_operators_of_others_are_not_cached(mode, cache, x) -> None:
    with torch.library._scoped_library("symbolic_shapes_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
        library.impl("twice", lambda x: x.new_empty(x.shape), "Meta")
        with mode:
            torch.ops.symbolic_shapes_test.twice(x)
    assert cache.bypasses["not an operator of torch's own"] == 1


def test_unbacked_symbols_of_an_operator_are_fresh_each_time(env, mode, x) -> None:
    with mode:
        one, two = x[x > 0], x[x > 0]
    assert one.shape[0].node is not two.shape[0].node


def test_make_fx_sees_every_size(mode, cache, x) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(x.shape[0] * 2)

    with mode:
        f(x)
    code = make_fx(f)(x).code
    assert "sym_size" in code and "mul" in code


def test_static_tensors_use_torchs_cache(mode, cache) -> None:
    static = create_symbolic_tensor(mode, torch.zeros(6, 4), [None, None])
    with mode:
        static + 1
        static + 1
    assert (cache.hits, cache.misses) == (0, 0)


def test_metadata_changed_in_place_changes_the_key(mode, cache, x) -> None:
    with mode:
        y = x.clone()
        wide = y + 1
        y.t_()
        assert metadata(y + 1) != metadata(wide)
        y.data = x.sum(1)
        assert (y + 1).dim() == 1


def test_install_on_torchs_environment_is_refused() -> None:
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with pytest.raises(TypeError, match="TorchShapeEnv"):
        install(FakeTensorMode(shape_env=ShapeEnv()))


def test_the_operators_of_the_table_exist() -> None:
    for name in KERNELS:
        assert hasattr(aten, name.removeprefix("aten::"))


def test_a_hit_makes_no_callback(env, mode, cache, x, monkeypatch: pytest.MonkeyPatch) -> None:
    with mode:
        torch.ops.aten.mul.Tensor(x, 2)
        asked: list[str] = []
        for name in ("eq", "ne", "mul", "ge", "gt", "le", "lt", "guard_bool"):
            monkeypatch.setattr(type(x.shape[0].node), name,
                                lambda *args, name=name: asked.append(name) or pytest.fail(name))
        torch.ops.aten.mul.Tensor(x, 2)
    assert cache.hits == 1 and not asked


# -- sequences -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("first", range(0, 40, 20))
def test_sequences_give_the_same_with_and_without_the_cache(first: int) -> None:
    hits = sum(cache_programs.check(seed) for seed in range(first, first + 20))
    assert hits > 10


@pytest.mark.long
def test_many_sequences() -> None:
    for seed in range(1000, 2000):
        cache_programs.check(seed)


def test_who_asks_is_part_of_the_key(env, mode, cache, x) -> None:
    """Within `view`, which has no other result for small sizes, a slice asks without a fact; elsewhere it needs one."""
    with mode, enable_python_dispatcher():
        with env.inside_operator(aten.view.default):
            aten.slice.Tensor(x, 0, 1, x.shape[0] - 1)
        assert not env.core.facts and cache.misses
        aten.slice.Tensor(x, 0, 1, x.shape[0] - 1)
    assert [str(f.relation) for f in env.core.facts] == ["s0 >= 2"]


def test_a_view_of_one_of_two_tensors_that_share_memory(mode, cache, x) -> None:
    """Whose view it is cannot be told from the memory: such a call is not kept."""
    view = x.view(-1)
    with pytest.raises(Bypass, match="share memory"):
        cache.make_entry(view[1:], [x, view])
    assert cache.make_entry(view + 1, [x, view]).outputs[0].alias is None
    assert cache.make_entry(view[1:], [x]).outputs[0].alias == 0
