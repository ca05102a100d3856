"""Operators that take functions: `torch.cond`, `scan`, `vmap`. The rules are in `tracing/higher_order`."""

from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.higher_order import table

FEATURE = Feature(name="higher_order", rules=table.table, graph_breaks=("higher-order-operator",))
