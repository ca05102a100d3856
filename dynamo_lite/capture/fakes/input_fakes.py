"""The FakeTensors for the flat inputs of a program: a new one each, with symbols for sizes that vary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from dynamo_lite.capture._torch import FakeTensor, FakeTensorMode, fast_detach
from dynamo_lite.capture.fakes import subclasses, wrapper_subclasses
from dynamo_lite.capture.fakes.fake_tensors import PLAIN, FakeFactory, in_whole_memory
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.symbolic_shapes.torch_env.inputs import TensorPolicy, create_symbolic_tensor
from dynamo_lite.symbolic_shapes.torch_node._torch_converter import constant_fake


class InputFakes:
    """Creates the fake tensors of one recording's inputs.

    Args:
        fake_mode: their mode.
        converter: makes FakeTensors of real ones (the recording's `fakes`).
        keep: objects that must live as long as the recording, because they are identified by their id; added to.
    """

    def __init__(self, fake_mode: FakeTensorMode, converter: FakeFactory, keep: list[Any]) -> None:
        self._fake_mode = fake_mode
        self._converter = converter
        self._keep = keep
        self._are_plain = False

    def expect(self, values: Iterable[Any]) -> None:
        """Announces all inputs together."""
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self._are_plain = all(type(tensor) in PLAIN for tensor in tensors)
        if self._are_plain:
            self._converter.expect(tensors)

    def of(self, name: str, tensor: torch.Tensor, policy: TensorPolicy | None) -> torch.Tensor:
        """The fake tensor for the input `name`. Raises InvalidArguments for a tensor that has none."""
        complaint = subclasses.complaint(type(tensor), is_input=True)
        if complaint is not None:
            raise InvalidArguments(f"the input {name} is {complaint}")
        if wrapper_subclasses.is_wrapper(tensor):
            return self._wrapper(name, tensor, policy)
        try:
            return self._fake(tensor, policy)
        except RuntimeError as error:  # a quantized or a nested tensor
            reason = str(error).partition("\n")[0]
            what = f"the input {name} is a tensor that FakeTensors cannot stand for: {reason}"
            raise InvalidArguments(what) from error

    def _fake(self, tensor: torch.Tensor, policy: TensorPolicy | None = None) -> torch.Tensor:
        # An alias of its own: the converter answers the same fake for the same tensor, and an input that is also
        # a parameter, or given twice, has to stay distinguishable.
        plain = subclasses.as_plain(tensor)
        with torch.no_grad():
            alias = plain.detach() if not isinstance(tensor, FakeTensor) else fast_detach(tensor.fake_mode, tensor)
        alias.requires_grad_(tensor.requires_grad)
        if isinstance(alias, FakeTensor):
            return alias if alias.fake_mode is self._fake_mode else self._of_another_mode(alias, policy)
        self._keep.append(alias)
        is_whole = self._are_plain and self._converter.is_whole(alias)
        if policy is not None:
            fake = create_symbolic_tensor(self._fake_mode, alias, policy.sizes, policy.source, is_whole)
        elif is_whole:
            return self._converter.like_real(alias)
        else:
            fake = constant_fake(self._fake_mode, alias)
        return fake if is_whole else in_whole_memory(fake, alias)

    def _of_another_mode(self, fake: FakeTensor, policy: TensorPolicy | None) -> torch.Tensor:
        """A fake tensor for a FakeTensor of the user's, whose mode has no symbols."""
        if policy is None:
            return self._converter.of(fake)
        meta = self._converter.meta_of(fake)
        self._keep.append(meta)
        made = create_symbolic_tensor(self._fake_mode, meta, policy.sizes, policy.source)
        made.fake_device = fake.fake_device
        return made

    def _wrapper(self, name: str, tensor: torch.Tensor, policy: TensorPolicy | None) -> torch.Tensor:
        def of(inner: torch.Tensor, sizes: Any) -> torch.Tensor:
            return self._fake(inner, TensorPolicy(sizes))

        try:
            if policy is None:
                return wrapper_subclasses.fake(tensor, self._fake)
            return wrapper_subclasses.symbolic_fake_of_wrapper(tensor, of, policy.sizes)
        except Exception as error:
            what = f"the input {name} is a {type(tensor).__qualname__} for which there is no fake tensor: {error}"
            raise InvalidArguments(what) from error
