"""Calls: call plans, the registry of rules by callable, and rules that are about no kind of value.

`plans.py` decides once per callable what a call means; `registry.py` has the table of rules; `native_calls.py` does
what a verdict on a C callable asks for.
Called by `Tracer.before_call`. Imports every package of rules (`tracing/sizes`, `strings`, `tensors`,
`higher_order`), which in turn may use its small files.
"""
