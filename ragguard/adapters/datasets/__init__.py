"""Where golden samples come from."""
