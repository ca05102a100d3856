"""The hand-written programs of the laboratory, a file a class; lab/programs.py defines them.

No file here is imported as a part of dynamo_lite: lab/programs.py runs its text as a module `lab_programs.<class>`, so
that a tracer sees code of a user. Licence: that of the package. How to cite it is in docs/soundness.md.
"""
