"""All I/O, one folder a family, one file an implementation; families do not know each other."""
