"""Marks on functions: `assume_constant_result`, and constructors of subclasses (`tracing/calls`)."""

from dynamo_lite.tracing.calls import annotations, marked_constructors
from dynamo_lite.tracing.feature import Feature

FEATURE = Feature(name="compiled", function_steps=(annotations.plan, marked_constructors.plan))
