"""Reads the config that decides: the checkout's own, or for a change the base branch's, read through GitHub's API."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from ragguard.app.config import Config
from ragguard.app.own_metrics import load_metric
from ragguard.app.policy_from_base import (
    no_own_metric,
    own_metrics,
    policy_changes,
    refuse_code,
    with_base_policy,
)
from ragguard.app.read_config import DEFAULT_NAMES, find_config, parse_config, read_config
from ragguard.core.metrics.base import Metric
from ragguard.entrypoints.github_context import GitHubContext
from ragguard.errors import ConfigError


class Repository(Protocol):
    """A repository whose files can be read at a ref."""

    def file(self, path: str, ref: str) -> bytes | None:
        """A file's content; None where there is none."""
        ...

    def folder(self, path: str, ref: str) -> Mapping[str, bytes]:
        """The files below a folder, by their path in it."""
        ...


@dataclass(frozen=True)
class Policy:
    """The config that decides, and what must be said about where it comes from."""

    config: Config
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class PolicySource:
    """Where a config is looked for.

    Attributes:
        name: The config's path from `folder`; None for the usual names.
        folder: The working folder.
        workspace: The root of the checkout.
        variables: For `${RAGGUARD_VAR_…}`.
        overrides: The config's fields that inputs set; they win on both sides.
    """

    name: str | None
    folder: Path
    workspace: Path
    variables: Mapping[str, str]
    overrides: Mapping[str, object] = field(default_factory=dict)

    def checkout(self) -> Config:
        """The checkout's own config.

        Raises:
            ConfigError: It is missing or wrong.
        """
        return read_config(find_config(self.name, self.folder), self.variables, self.overrides, load_metric)

    def decide(self, context: GitHubContext, repository: Repository | None, *, from_base: bool) -> Policy:
        """The config that decides about what is tested.

        Args:
            context: The event's.
            repository: Reads the base branch.
            from_base: Whether a change's policy comes from its base (`policy-source`).

        Raises:
            ConfigError: A config is missing or wrong, or a stranger's change would be run.
            OutsideWorldError: The base branch cannot be read.
        """
        is_change = context.run.pull_request or context.data_only
        if not is_change or not (from_base or context.data_only):
            return Policy(self.checkout())
        if context.base_ref is None or repository is None:
            raise ConfigError(
                "the base branch of the change under test is unknown, so that its policy cannot be read",
                mend="run the action on the events pull_request or merge_group, or set `policy-source: head`",
            )
        base = _Base(self, repository, context.base_ref)
        if context.data_only:
            return base.alone()
        return base.against(self.checkout())

    def inside(self, path: str) -> str | None:
        """A path of the working folder as the repository names it; None where it lies elsewhere.

        The name alone counts: a link in the checkout is the change's, and must not choose what is read of the base.
        """
        full = Path(os.path.normpath(self.folder / path))
        return full.relative_to(self.workspace).as_posix() if full.is_relative_to(self.workspace) else None


@dataclass(frozen=True)
class _Base:
    """The base branch's side."""

    source: PolicySource
    repository: Repository
    ref: str

    def alone(self) -> Policy:
        """The base's config and nothing of the change: a stranger's change is data.

        Raises:
            ConfigError: The base has no config, a wrong one, or one that would run the change's code.
        """
        found = self._text()
        if found is None:
            raise ConfigError(f"the base branch {self.ref} has no ragguard.yaml, and a stranger's decides nothing")
        config = self._parsed(*found, no_own_metric)
        refuse_code(config)
        config, _ = self._with_templates(config)
        notice = f"A change from outside is tested as data: all settings are those of {self.ref}."
        return Policy(config, (notice,))

    def against(self, head: Config) -> Policy:
        """The base's policy with the change's own way to answer, and what the change would set otherwise."""
        found = self._text()
        if found is None:
            return Policy(head, (f"{self.ref} has no ragguard.yaml yet: the policy is the one of this change.",))
        own: list[str] = []

        def load(name: str) -> type[Metric]:
            own.append(name)
            return load_metric(name)

        try:
            base = self._parsed(*found, load)
        except ConfigError as error:
            if own:  # their code is the change's: what it breaks must not set its policy free
                raise
            said = error.details[0] if error.details else error.message
            notice = f"The ragguard.yaml of {self.ref} is wrong; the policy is the one of this change: {said}"
            return Policy(head, (notice,))
        config, changed_templates = self._with_templates(with_base_policy(base, head))
        return Policy(config, (*policy_changes(base, head), *changed_templates, *_code_notices(config)))

    def _text(self) -> tuple[str, bytes] | None:
        """The base's config and its name; all usual names are tried, as a change may add one that comes first."""
        names: Sequence[str] = DEFAULT_NAMES if self.source.name is None else (self.source.name,)
        for name in names:
            path = self.source.inside(name)
            data = self.repository.file(path, self.ref) if path is not None else None
            if data is not None:
                return f"{path} of {self.ref}", data
        return None

    def _parsed(self, name: str, data: bytes, load: Callable[[str], type[Metric]]) -> Config:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{name}: not UTF-8 text (byte {error.start})", mend="save the file as UTF-8") from error
        return parse_config(text, name, self.source.variables, self.source.overrides, load)

    def _with_templates(self, config: Config) -> tuple[Config, list[str]]:
        """The config with the base's own templates, such as the judge's prompts, and what the change does to them."""
        path = self.source.inside(config.templates) if config.templates else None
        if path is None:
            return config, []
        files = self.repository.folder(path, self.ref)
        folder = Path(tempfile.mkdtemp(prefix="ragguard-templates-"))
        for name, data in files.items():
            if ".." in PurePosixPath(name).parts:
                continue
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        here = self.source.folder / (config.templates or "")
        changed = sorted(name for name in {*files, *_names(here)} if _bytes(here / name) != files.get(name))
        said = [f"Templates changed here, in force after the merge: {', '.join(changed[:10])}"] if changed else []
        return config.model_copy(update={"templates": str(folder)}), said


def _names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _code_notices(config: Config) -> list[str]:
    own = own_metrics(config)
    return [f"The code of own metrics is the one of this change: {', '.join(own)}"] if own else []
