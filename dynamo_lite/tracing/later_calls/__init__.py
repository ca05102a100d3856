"""Python state that a later call finds: the sizes and the tensors that an earlier one has stored.

A second trace begins with symbols in place of sizes (`free_sizes.py`), and with tables of such sizes
(`kept_tables.py`); `places.py` puts them there. If that fails, the sizes are the example's (`persisted_sizes.py`).
`held_tables.py` handles tables that exist before the export and grow. `persisted_tensors.py` finds the state that
stored tensors depend on. Called by run/second_trace.py and run/growing_tables.py. Imports `tracing/effects`.
"""
