"""Disks that are full, small or read-only: a file system in memory where root may mount one, else by permissions."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A file system of so many kilobytes at a folder; skips where it cannot be mounted."""
    folder.mkdir(exist_ok=True)
    with _mounted(folder, f"size={kilobytes}k"):
        yield folder


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """A folder and all below it can be read but not written, by root either."""
    if os.geteuid() == 0:
        _call("mount", "--bind", str(folder), str(folder))
        try:
            _call("mount", "-o", "remount,ro,bind", str(folder))
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        return
    paths = [folder, *folder.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    try:
        for path in paths:
            path.chmod(modes[path] & ~0o222)
        yield folder
    finally:
        for path in paths:
            path.chmod(modes[path])


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[None]:
    _call("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _call(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs to mount a file system: {error}")
