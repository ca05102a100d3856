"""A laboratory for the soundness of tracing: programs, exporters, and verdicts of one against eager.

    python -m dynamo_lite.lab run --exporter torch-nonstrict --limit 200 --out rows.jsonl
    python -m dynamo_lite.lab report rows.jsonl

    exporters.py   the protocol `Exporter`, the adapters, and how others are found (entry points, `module:Class`)
    programs.py    a program of the corpus, and how programs are loaded
    corpus/        the programs by class, written by hand
    generated.py   random modules by seed
    judge.py       a verdict of one exporter about one program
    host.py        a process that judges programs, each in a fork of its own
    runs.py        programs shared out to such processes, and the file of their answers
    reports.py     that file as a table, as a page, and beside another
    observe.py     one call as its caller can see it, and the first difference of two calls
    snapshot.py    changes of the user's objects and of the process by an export
    shrinking.py   a program that an exporter gets wrong, reduced to a few lines
    verifying.py   the command that replays the proofs of a file (dynamo_lite/certificates)

Nothing of dynamo_lite imports it. docs/soundness.md defines what its verdicts mean.
"""
