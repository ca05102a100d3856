"""Operators that need a rule of their own on FakeTensors, and what an operator's failure means."""
