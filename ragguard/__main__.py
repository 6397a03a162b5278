"""`python -m ragguard`."""

from ragguard.entrypoints.cli import main

if __name__ == "__main__":
    main()
