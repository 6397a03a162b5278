"""Hand-written fakes, shared by the tests."""
