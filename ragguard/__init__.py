"""ragguard: a regression gate for retrieval-augmented generation."""

__version__ = "0.1.0"
