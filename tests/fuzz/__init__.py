"""What comes from outside, at its worst: the same strategies as tests (few, the same every time) and for minutes."""
