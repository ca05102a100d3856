"""The record of `identity`."""

from __future__ import annotations

import builtins

import torch

from dynamo_lite.features.identity import addresses, hashing, tensors, ties_in_sets, unique_values
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import Step

_RULES = {
    id(builtins.id): hashing.call_id,
    **dict.fromkeys(map(id, (builtins.hash, object.__hash__, torch.Tensor.__hash__)), hashing.call_hash),
    id(set.pop): hashing.call_pop,
}


def _before() -> dict[int, tuple[Step, ...]]:
    rows: dict[int, tuple[Step, ...]] = {}
    for table in (addresses.ORDER, addresses.READERS, hashing.SHOW_ORDER, ties_in_sets.PICK):
        for key, step in table.items():
            rows[key] = (*rows.get(key, ()), step)
    return rows


FEATURE = Feature(
    name="identity",
    state=(
        hashing.InputsHashed,
        hashing.AddressesHashed,
        tensors.TensorAddresses,
        unique_values.ObjectIds,
    ),
    rules=lambda: _RULES,
    function_steps=(hashing.plan_own_hash,),
    before=_before(),
    around=hashing.watched,
    on={
        "identity": tensors.identical,
        "returned": hashing.check_hashed,
        "outputs": addresses.check_outputs,
        ("item", str): addresses.read_part,
        ("items", str): addresses.check_items,
        ("key", str): addresses.look_for_part,
        ("items", set): hashing.check_iteration,
        ("items", frozenset): hashing.check_iteration,
    },
    graph_breaks=("unrecordable-id", "input-identity", "outside-object", "branch-unsupported"),
)
