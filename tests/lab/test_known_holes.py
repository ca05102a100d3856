"""known_holes.toml has the programs of the corpus that dynamo-lite gets wrong: all of them, no others, and how."""

from __future__ import annotations

from dynamo_lite.lab import exporters, programs
from dynamo_lite.lab.judge import judge


def test_the_table_lists_what_is_wrong() -> None:
    holes = programs.known_holes()
    exporter = exporters.load("dynamo-lite")
    answers = {id: judge(programs.find(id), exporter) for id in programs.chosen([])}
    assert {id for id, answer in answers.items() if answer.verdict == "wrong"} == {*holes}
    assert [id for id, hole in holes.items() if hole["answer"] not in answers[id].text] == []
    assert {id: answer.changed for id, answer in answers.items() if answer.changed} == {}


def test_the_verdicts_with_all_guards_evaluated() -> None:
    guarded = exporters.load("dynamo-lite-guarded")
    for id, hole in programs.known_holes().items():
        assert (id, judge(programs.find(id), guarded).verdict) == (id, hole["guarded"])
