"""Calls: call plans, the registry of rules by callable, and rules that are about no kind of value.

`plans.py` decides once per callable how a call is handled; `registry.py` has the table of rules; `native_calls.py`
carries out a verdict on a C callable. Called by `Tracer.before_call`. Imports every package of rules (`tracing/sizes`,
`strings`, `tensors`, `higher_order`), which in turn may use its small files.
"""
