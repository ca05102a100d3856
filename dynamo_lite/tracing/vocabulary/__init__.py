"""Terms that all of tracing uses: tests of types, where the program is, how things are displayed, the table of
refusals.
"""
