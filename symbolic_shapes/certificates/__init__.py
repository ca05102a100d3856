"""The proofs of one trace as a document that another process checks: `dynamo_lite/certificates/checker.py`.

`document.py` gathers what is to be proved, `steps.py` writes the steps, `elaborations.py` those rules of
`symbolic_shapes/proofs` that the checker of files has not, by rules that it has, `nodes.py` the expressions.
docs/certificates.md describes the format.
"""
