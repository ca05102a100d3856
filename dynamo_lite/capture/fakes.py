"""The FakeTensorMode that a run takes place in."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from torch import nn

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode
from symbolic_shapes import fake_cache
from symbolic_shapes.torch_env import TorchShapeEnv


def symbolic_mode() -> FakeTensorMode:
    """A mode on an environment of ours: sizes may be symbols."""
    return fake_cache.fake_mode(TorchShapeEnv(), allow_non_fake_inputs=False)


def without_symbols(mode: FakeTensorMode) -> bool:
    """Whether a run in this mode met constant sizes only. The mode then is an ordinary one, without environment."""
    env = mode.shape_env
    if isinstance(env, TorchShapeEnv):
        if env.core.symbols or env.unbacked_created:
            return False
        fake_cache.uninstall(mode)
        mode.shape_env = None
    return True


def fake_mode_of(root: nn.Module | None, leaves: Iterable[Any]) -> FakeTensorMode | None:
    """The user's own mode, if inputs, parameters or buffers are FakeTensors; else None.

    Raises ValueError when they come from different modes, which no operator would accept together.
    """
    state = chain(root.parameters(), root.buffers()) if root is not None else ()
    modes = {id(t.fake_mode): t.fake_mode for t in chain(leaves, state) if isinstance(t, FakeTensor)}
    if len(modes) > 1:
        raise ValueError("inputs and parameters are FakeTensors of different FakeTensorModes")
    return next(iter(modes.values()), None)
