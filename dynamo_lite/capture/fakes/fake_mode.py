"""The FakeTensorMode that a run takes place in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode
from dynamo_lite.capture.module_tree import ModuleTree
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.symbolic_shapes.torch_env import dispatch_cache
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from dynamo_lite.torch_internals._torch_dispatch import _get_dispatch_mode, _TorchDispatchModeKey


def symbolic_mode() -> FakeTensorMode:
    """A mode on an environment of ours: sizes may be symbols."""
    return dispatch_cache.fake_mode(TorchShapeEnv(), allow_non_fake_inputs=False)


def without_symbols(mode: FakeTensorMode) -> bool:
    """Whether a run in this mode met constant sizes only. The mode then is an ordinary one, without environment."""
    env = mode.shape_env
    if isinstance(env, TorchShapeEnv):
        if env.core.symbols or env.unbacked_created:
            return False
        dispatch_cache.uninstall(mode)
        mode.shape_env = None
    return True


def fake_mode_of(root: nn.Module | None, leaves: Iterable[Any]) -> FakeTensorMode | None:
    """The user's own mode, if inputs, parameters or buffers are FakeTensors; else None.

    Raises InvalidArguments when they come from different modes, which no operator would accept together, or when their
    sizes are symbols, which mean nothing outside of their own environment.
    """
    tree = ModuleTree(root)
    state = [value for _, value in (*tree.parameters, *tree.buffers)]
    fakes = [t for t in (*leaves, *state) if isinstance(t, FakeTensor)]
    if not fakes:
        return None
    modes = {id(t.fake_mode): t.fake_mode for t in fakes}
    if len(modes) > 1:
        raise InvalidArguments("inputs and parameters are FakeTensors of different FakeTensorModes")
    for fake in fakes:
        if fake._has_symbolic_sizes_strides:
            raise InvalidArguments(
                f"an input or parameter is a FakeTensor of shape {list(fake.shape)}, whose symbols belong to another "
                "trace: give real or meta tensors, and list in dynamic_shapes which sizes vary"
            )
    return next(iter(modes.values()), None)


def is_active(mode: FakeTensorMode) -> bool:
    """Whether tensors that are made now are this mode's."""
    return bool(_get_dispatch_mode(_TorchDispatchModeKey.FAKE) is mode)


def meta_of(fake: FakeTensor) -> torch.Tensor:
    """A meta tensor that looks like a FakeTensor. InvalidArguments for one that is more than sizes and strides."""
    if fake.layout is not torch.strided or fake.is_conj() or fake.is_neg() or fake.storage_offset():
        raise InvalidArguments(f"a FakeTensor of shape {list(fake.shape)} is a view, or not strided: sizes cannot vary")
    made = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device="meta")
    return made.requires_grad_(fake.requires_grad)
