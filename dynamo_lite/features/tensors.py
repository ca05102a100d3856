"""Constructors and shared memory of tensors. The rules are in `tracing/tensors`."""

from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.tensors import constructors, shared_memory

FEATURE = Feature(name="tensors", rules=shared_memory.table, wraps=constructors.table)
