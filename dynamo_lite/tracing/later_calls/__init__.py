"""What a later call finds in Python state: the sizes and the tensors that an earlier one has left there.

A second trace begins with symbols in the place of sizes (`free_sizes.py`), and with tables of such sizes
(`kept_tables.py`); `places.py` puts them there. Where that fails, the sizes are the example's (`persisted_sizes.py`).
`held_tables.py` knows tables that are there before the export and grow. `persisted_tensors.py` says what tensors that
are kept rest on. Called by run/second_trace.py and run/growing_tables.py. Imports `tracing/effects`.
"""
