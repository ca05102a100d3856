"""Modules with control flow on data, as people write them, for benchmarks/control_flow_modules.py."""

from __future__ import annotations

from benchmarks.control_flow_programs import decoders, exits, recurrent, solvers, training
from benchmarks.control_flow_programs.table import MODULES, Module

__all__ = ["MODULES", "Module", "decoders", "exits", "recurrent", "solvers", "training"]
