"""What somebody may try: every attack, what it would gain, and what stops it."""
