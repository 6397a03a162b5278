"""Real parts for the tests: servers and programs that run on this machine alone."""
