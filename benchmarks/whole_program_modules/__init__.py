"""Whole programs in which data decide what runs, as people write them, for benchmarks/whole_programs.py."""

from __future__ import annotations

from benchmarks.whole_program_modules import decoding, detection, experts, lengths
from benchmarks.whole_program_modules.table import PROGRAMS, WholeProgram

__all__ = ["PROGRAMS", "WholeProgram", "decoding", "detection", "experts", "lengths"]
