"""Reads YAML that is not trusted: no tags, no aliases that explode, variables by name, and the line of every field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from ragguard.errors import ConfigError

_MAX_NODES = 50_000
_MAX_DEPTH = 50
_MAX_BYTES = 1_000_000
_VARIABLE = re.compile(r"\$?\$\{([^}]*)\}")
_PREFIX = "RAGGUARD_VAR_"

FieldPath = tuple[str | int, ...]


@dataclass(frozen=True)
class YamlText:
    """A parsed YAML file: its data, and the line (from 1) where each field stands."""

    name: str
    data: object
    lines: Mapping[FieldPath, int]

    def line(self, path: FieldPath) -> int:
        """The line of a field, or of its nearest parent; 0 for an empty file."""
        ends = range(len(path), -1, -1)
        return next((line for end in ends if (line := self.lines.get(path[:end])) is not None), 0)

    def where(self, path: FieldPath) -> str:
        """`file:line` of a field, or of its nearest parent."""
        line = self.line(path)
        return f"{self.name}:{line}" if line else self.name


def read_yaml(text: str, name: str, variables: Mapping[str, str]) -> YamlText:
    """Parses YAML and puts in the variables.

    Args:
        text: The file's text.
        name: The file's name, for messages.
        variables: Values of `${RAGGUARD_VAR_…}`; no other variable is ever read, so that a config cannot carry a
            secret to a foreign address.

    Raises:
        ConfigError: The text is not YAML, names a field twice, or a variable is not there.
    """
    if len(text.encode("utf-8", "replace")) > _MAX_BYTES:
        raise ConfigError(
            f"{name}: larger than {_MAX_BYTES:,} bytes", mend="a config is a few kilobytes: name another file"
        )
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines = _lines(node, name) if node is not None else {}
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark else name
        raise ConfigError(f"{where}: not valid YAML: {getattr(error, 'problem', None) or error}") from error
    except RecursionError as error:
        raise ConfigError(f"{name}: nested too deeply") from error
    except ValueError as error:
        raise ConfigError(
            f"{name}: a value is no date or number, though it looks like one: {str(error)[:200]}",
            mend="put texts that look like dates or numbers into quotes",
        ) from error
    result = YamlText(name, data, lines)
    return YamlText(name, _with_variables(data, (), result, variables), lines)


def _lines(root: yaml.Node, name: str) -> dict[FieldPath, int]:
    lines: dict[FieldPath, int] = {}
    waiting: list[tuple[yaml.Node, FieldPath]] = [(root, ())]
    while waiting:
        node, path = waiting.pop()
        lines[path] = node.start_mark.line + 1
        if len(lines) > _MAX_NODES:
            raise ConfigError(f"{name}: more than {_MAX_NODES:,} values", mend="aliases multiply: write less of them")
        if len(path) > _MAX_DEPTH:
            where = f"{name}:{node.start_mark.line + 1}"
            raise ConfigError(f"{where}: nested too deeply", mend="an alias must not stand inside what it names")
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                field = str(key.value)
                if field in seen and field != "<<":
                    where = f"{name}:{key.start_mark.line + 1}"
                    raise ConfigError(f"{where}: {dotted((*path, field))}: stands twice", mend="keep one of the two")
                seen.add(field)
                waiting.append((value, (*path, field)))
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend((value, (*path, index)) for index, value in enumerate(node.value))
    return lines


def _with_variables(value: object, path: FieldPath, text: YamlText, variables: Mapping[str, str]) -> object:
    if isinstance(value, dict):
        return {key: _with_variables(item, (*path, str(key)), text, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_variables(item, (*path, index), text, variables) for index, item in enumerate(value)]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _variable(match, path, text, variables), value)
    return value


def _variable(match: re.Match[str], path: FieldPath, text: YamlText, variables: Mapping[str, str]) -> str:
    if match.group().startswith("$$"):
        return match.group()[1:]
    variable = match.group(1)
    where = f"{text.where(path)}: {dotted(path)}"
    if not variable.startswith(_PREFIX):
        raise ConfigError(
            f"{where}: ${{{variable}}} is not a {_PREFIX}… variable",
            mend=f"only variables whose names begin with {_PREFIX} are put in; secrets are read from their own "
            "variables and never stand in the config; write $${…} for the characters themselves",
        )
    if variable not in variables:
        raise ConfigError(f"{where}: the variable {variable} is not set", mend=f"set {variable} in the environment")
    return variables[variable]


def dotted(path: FieldPath) -> str:
    """Writes a field's path as `judge.model` or `metrics[1]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "the file"
