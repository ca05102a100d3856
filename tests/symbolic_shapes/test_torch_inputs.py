"""Inputs: sizes as the policy says, strides in terms of sizes, sources."""

import pytest
import torch
from torch._dynamo.source import LocalSource
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
    free_unbacked_symbols,
)
from torch.utils._sympy.value_ranges import ValueRanges

from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, TensorPolicy, create_symbolic_tensor


@pytest.fixture
def env() -> TorchShapeEnv:
    return TorchShapeEnv()


@pytest.fixture
def mode(env: TorchShapeEnv) -> torch._subclasses.FakeTensorMode:
    return fake_mode(env)


ALL = [Fresh(), Fresh(), Fresh()]


@pytest.mark.parametrize("make, strides", [
    (lambda: torch.zeros(2, 3, 4), "s1*s2 s2 1"),
    (lambda: torch.zeros(3, 2, 4).transpose(0, 1), "s2 s0*s2 1"),
    (lambda: torch.zeros(4, 3, 2).permute(2, 1, 0), "1 s0 s0*s1"),
    (lambda: torch.zeros(2, 4).unsqueeze(1).expand(2, 3, 4), "s2 0 1"),
    (lambda: torch.zeros(2, 3, 9)[:, :, :4], "3*s3 s3 1"),
])
def test_strides_follow_from_sizes(env, mode, make, strides: str) -> None:
    real = make()
    x = create_symbolic_tensor(mode, real, ALL)
    assert [s.node.hint for s in x.shape] == list(real.shape)
    values = [s.node.hint if isinstance(s, torch.SymInt) else s for s in x.stride()]
    assert values == list(real.stride())
    assert not env.core.facts
    if "s3" not in strides:
        assert " ".join(str(env.unwrap(s)) for s in x.stride()) == strides


def test_a_stride_that_sizes_do_not_explain_is_a_symbol(env, mode) -> None:
    x = create_symbolic_tensor(mode, torch.zeros(2, 3, 9)[:, :, :4], ALL)
    assert str(x.stride(1)) == "s3" and x.stride(1).node.hint == 9
    assert x.stride(0).node.hint == 27


def test_static_dimensions_and_shared_symbols(env, mode) -> None:
    x = create_symbolic_tensor(mode, torch.zeros(6, 5), [Fresh(), None])
    n = env.unwrap(x.shape[0])
    y = create_symbolic_tensor(mode, torch.zeros(6, 13), [n, n * 2 + 1])
    assert type(x.shape[1]) is int
    assert y.shape[0].node is x.shape[0].node
    assert y.shape[1].node.core is n * 2 + 1
    with pytest.raises(ValueError, match="is 7"):
        create_symbolic_tensor(mode, torch.zeros(7), [n])


def test_ranges_names_and_sources(env, mode) -> None:
    x = create_symbolic_tensor(mode, torch.zeros(6), [Fresh(name="batch", lo=2, hi=64)], LocalSource("x"))
    (symbol,) = env.core.symbols.values()
    assert (symbol.name, symbol.lo, symbol.hi, symbol.source.name) == ("batch", 2, 64, "L['x'].size()[0]")
    assert [s.name for s in env.var_to_sources[x.shape[0].node._expr]] == ["L['x'].size()[0]"]
    with pytest.raises(ValueError, match="outside"):
        create_symbolic_tensor(mode, torch.zeros(6), [Fresh(lo=7)])


def test_unbacked_dimensions_hide_the_example(env, mode) -> None:
    x = create_symbolic_tensor(mode, torch.zeros(6, 4), [Fresh(unbacked=True), None])
    assert x.shape[0].node.hint is None and len(free_unbacked_symbols(x.shape[0])) == 1
    assert env.pending_fresh_unbacked_symbols == [], "an input binds it, not an operator"
    with mode:
        assert (x + 1).reshape(-1).shape[0].node.core is env.unwrap(x.shape[0]) * 4


def test_policies_that_do_not_fit(env, mode) -> None:
    with pytest.raises(ValueError, match="2 dimensions"):
        create_symbolic_tensor(mode, torch.zeros(6), [Fresh(), Fresh()])
    fake = create_symbolic_tensor(mode, torch.zeros(6), [Fresh()])
    with pytest.raises(ValueError, match="fake"):
        create_symbolic_tensor(mode, fake, [Fresh()])


def test_the_value_of_a_scalar_input_is_not_known(env, mode) -> None:
    x = create_symbolic_tensor(mode, torch.tensor(3), [], LocalSource("x"))
    with mode:
        assert x.item().node.hint is None


def test_what_an_input_keeps(env, mode) -> None:
    base = torch.zeros(6, 4)
    x = create_symbolic_tensor(mode, base, [Fresh(), Fresh()])
    view = create_symbolic_tensor(mode, base[2:], [Fresh(), env.unwrap(x.shape[1])])
    assert view.untyped_storage()._cdata == x.untyped_storage()._cdata, "inputs that share memory have fakes that do"
    assert view.storage_offset().node.hint == 8
    leaf = create_symbolic_tensor(mode, torch.zeros(3, requires_grad=True), [Fresh()])
    assert leaf.requires_grad and leaf.is_leaf
    parameter = create_symbolic_tensor(mode, torch.nn.Parameter(torch.zeros(3)), [Fresh()])
    assert isinstance(parameter, torch.nn.Parameter)
    assert mode.from_tensor(base) is x, "remembered"


# -- torch's own contexts -------------------------------------------------------------------------------
def test_torchs_contexts() -> None:
    env = TorchShapeEnv(duck_shape=True, specialize_zero_one=True)
    mode = fake_mode(env)
    duck = DimDynamic.DUCK
    kinds = [duck, duck, DimDynamic.DYNAMIC, DimDynamic.STATIC, duck, DimDynamic.UNBACKED]
    x = mode.from_tensor(torch.zeros(4, 4, 4, 4, 1, 4), source=LocalSource("x"),
                         symbolic_context=StatelessSymbolicContext(kinds))
    a, b, c, d, e, f = x.shape
    assert a.node is b.node and a.node is not c.node
    assert type(d) is int and type(e) is int
    assert f.node.hint is None


def test_torchs_constraints(env, mode) -> None:
    constraint = StrictMinMaxConstraint(vr=ValueRanges(3, 8), warn_only=False)
    context = StatelessSymbolicContext([DimDynamic.DYNAMIC], constraint_sizes=[constraint])
    x = mode.from_tensor(torch.zeros(4), source=LocalSource("x"), symbolic_context=context)
    assert env.core.bounds(env.unwrap(x.shape[0])) == (3, 8)


def test_integer_and_float_inputs(env) -> None:
    n = env.create_symintnode(env.create_unspecified_symbol(-3, LocalSource("n")))
    f = env.create_symfloatnode(env.create_unspecified_symbol(1.5, LocalSource("f")))
    assert n.node.hint == -3 and f.node.hint == 1.5
    assert (n * f).node.hint == -4.5
    assert f > 1 and [fact.kind for fact in env.core.facts] == ["guard"]


def test_policy_is_torchs_kind_of_context() -> None:
    from torch.fx.experimental.symbolic_shapes import SymbolicContext

    assert isinstance(TensorPolicy([Fresh()]), SymbolicContext)
