"""Questions about memory layout, asked by a kernel or by the program."""

STATEMENTS = """\
v = z.contiguous(); z = z + (v is z)"""
