"""What turns a report into a file that people or machines read."""
