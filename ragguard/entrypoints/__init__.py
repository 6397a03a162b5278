"""The ways in: the command line and the action. Only they read the environment."""
