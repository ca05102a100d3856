"""The source of a tensor of which nobody says where it comes from."""

from __future__ import annotations

from torch import Tensor

from dynamo_lite.symbolic_shapes.torch_node._torch import FakeTensor, FakeTensorMode, Source


class UnnamedSource(Source):
    """What torch's converter would take from TorchDynamo (ConstantSource), which it imports for that."""

    @property
    def _name_template(self) -> str:
        return "__unknown_tensor"


def constant_fake(mode: FakeTensorMode, tensor: Tensor) -> FakeTensor:
    """A FakeTensor with the sizes of a tensor as constants."""
    return mode.from_tensor(tensor, static_shapes=True, source=UnnamedSource(), trace=False)
