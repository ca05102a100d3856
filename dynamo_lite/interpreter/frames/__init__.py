"""A call while it runs: frames, binding of arguments, generators, exceptions, tracebacks."""
