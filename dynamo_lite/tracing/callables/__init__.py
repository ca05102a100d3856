"""What is known of callables that the interpreter cannot look into: those written in C.

`verdicts.py` has the vocabulary, `table.py` and `containers.py` the data, `classify.py` the look-up, `native.py` what
the tracer does before such a call.
"""
