"""The story of a run: load, answer, evaluate, compare, decide, report."""
