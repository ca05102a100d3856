"""The observer of the interpreter: reads, writes, calls and branches of the traced program."""
