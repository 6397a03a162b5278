"""The Python interface: evaluate samples, audit an answer, compare runs, without a config file.

It stands beside the entrypoints, on top of `app`; `ragguard` itself gives its names out.
"""
