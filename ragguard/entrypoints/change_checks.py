"""What a change may not bring along in its checkout: links that lead elsewhere, and runs or verdicts of its own.

A checkout holds whatever the change's author commits. What ragguard itself keeps there (reports, stored runs, cached
verdicts) must come from ragguard: a committed run would be a baseline that the author chose, a committed link would let
reports be written over files outside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ragguard.adapters.addresses import parse_address
from ragguard.app.config import Config
from ragguard.errors import ConfigError


class Tree(Protocol):
    """A repository whose paths can be looked up at a ref."""

    def has(self, path: str, ref: str) -> bool:
        """Whether there is a file or folder of that path."""
        ...


def refuse_links(folder: Path, name: str) -> None:
    """Makes sure that a file from a stranger's artifact is itself, and not a way to a secret that lies elsewhere.

    Raises:
        ConfigError: A link is on its way.
    """
    path = folder / name
    if "://" not in name and path.resolve() != Path(os.path.normpath(path)):
        raise ConfigError(f"{name}: is a link, or lies behind one; a stranger's file is read only where it lies")


def refuse_ways_out(config: Config, output: Path, folder: Path, workspace: Path) -> None:
    """Makes sure that a change's checkout holds no link out of it, nor any in what ragguard writes.

    Args:
        config: The config that decides.
        output: Folder of the reports.
        folder: Where relative paths start.
        workspace: The root of the checkout, itself no link.

    Raises:
        ConfigError: There is one.
    """
    for path in filter(None, (_local(name, folder) for name in (config.pipeline.dataset, config.pipeline.answers))):
        if _inside(path, workspace) and not path.resolve().is_relative_to(workspace):
            raise _refused(path, workspace, "is a link out of the checkout, or lies behind one")
    for path in (output, *_kept(config, folder)):
        if _inside(path, workspace) and (link := next(_links(path), None)) is not None:
            raise _refused(link, workspace, "is a link, or lies behind one, where ragguard writes")


def refuse_own_records(config: Config, folder: Path, workspace: Path, tree: Tree, *, head: str, base: str) -> None:
    """Makes sure that a change brings no stored runs and no cached verdicts which its base does not have.

    Args:
        config: The config that decides.
        folder: Where relative paths start.
        workspace: The root of the checkout.
        tree: The repository.
        head: The change's commit.
        base: The branch that it is to go into.

    Raises:
        ConfigError: It does.
        OutsideWorldError: The repository cannot be read.
    """
    for path in _kept(config, folder):
        if not _inside(path, workspace) or path == workspace:
            continue
        name = path.relative_to(workspace).as_posix()
        if tree.has(name, head) and not tree.has(name, base):
            raise ConfigError(
                f"{name}: is committed by the change under test, and would decide about it",
                mend="remove it from the change: runs and verdicts are kept by a store or a cache, not by a commit",
            )


def _kept(config: Config, folder: Path) -> Iterator[Path]:
    """Where runs and verdicts are kept on this machine."""
    names = [getattr(config.reporting.sink, "uri", None), config.cache.path if config.cache.enabled else None]
    for name in names:
        if (path := _local(name, folder)) is not None:
            yield path


def _local(name: str | None, folder: Path) -> Path | None:
    """A path on this machine, by its name alone."""
    address = None if name is None else parse_address(name)
    return None if address is None or address.scheme != "file" else Path(os.path.normpath(folder / address.path))


def _inside(path: Path, workspace: Path) -> bool:
    return path.is_relative_to(workspace)


def _links(path: Path) -> Iterator[Path]:
    """The links on the way to a file or folder, in it, and beside it under its name."""
    if path.resolve() != path:
        yield path
    if path.is_dir():
        for where, folders, files in os.walk(path):
            yield from (found for name in (*folders, *files) if (found := Path(where, name)).is_symlink())
    yield from (beside for suffix in ("-wal", "-shm") if (beside := Path(f"{path}{suffix}")).is_symlink())


def _refused(path: Path, workspace: Path, why: str) -> ConfigError:
    return ConfigError(f"{path.relative_to(workspace)}: {why}", mend="commit no such link")
