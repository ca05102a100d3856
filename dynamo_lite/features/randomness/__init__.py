"""Values that differ from call to call (the clock, random numbers, ids of threads), and seeded generators.

`rules.py` gives the program a value that is refused where it is used (`tracing/strings/nondeterministic.py`), or
refuses a change of a generator that is older than the run. The numbers that a generator of the run draws are constants:
`seeded_generators.py` is about Python's and numpy's generators, `seeded_draws.py` about torch's.
"""
