"""Whether a target's program or function is there, found out without running or importing anything of it."""

from __future__ import annotations

import ast
import difflib
import shutil
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from ragguard.adapters.targets.wording import excerpt
from ragguard.errors import UserInputError


def require_program(program: str, search: str) -> None:
    """Makes sure that a command's program can be found.

    Args:
        program: A name, or a path relative to the working directory.
        search: The PATH that the command will have.

    Raises:
        UserInputError: It is nowhere, or may not be executed.
    """
    if shutil.which(program, path=search) is not None:
        return
    there = "/" in program and Path(program).exists()
    raise UserInputError(
        f"target command: `{excerpt(program, 80)}` {'may not be executed' if there else 'is not found'}",
        mend="name a program that is on PATH or a path to one, and check that it may be executed",
    )


def require_function(name: str, folder: Path) -> None:
    """Makes sure that `module:function` can be found, as far as the module's source tells.

    Packages on the way are not imported, so that what they do to the import path is not seen.

    Raises:
        UserInputError: There is no such module, or nothing of that name in it.
    """
    module, _, path = name.partition(":")
    spec = _spec_of(module, [str(folder.resolve()), *sys.path])
    if spec is None:
        raise UserInputError(
            f"target python: `{name}`: there is no module `{module}`",
            mend=f"run where `{module}` can be imported from, or set the target's `folder` (now {folder.resolve()})",
        )
    known = _names_in(spec.origin)
    first = path.partition(".")[0]
    if known is None or first in known:
        return
    near = difflib.get_close_matches(first, known, n=1)
    raise UserInputError(
        f"target python: `{name}`: there is no `{first}` in {spec.origin}",
        mend=f"did you mean `{near[0]}`?" if near else "define it as `def answer(question, history)`",
    )


def _spec_of(module: str, places: Sequence[str]) -> ModuleSpec | None:
    """Finds a module as an import would, without importing the packages that it stands in."""
    top, *rest = module.split(".")
    if top in sys.builtin_module_names:
        return ModuleSpec(module, None)
    spec = PathFinder.find_spec(top, list(places))
    walked = top
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        walked = f"{walked}.{part}"
        spec = PathFinder.find_spec(walked, list(spec.submodule_search_locations))
    return spec


def _names_in(origin: str | None) -> set[str] | None:
    """The names that a module's source binds at its top; None where the source does not tell."""
    if origin is None or not origin.endswith(".py"):
        return None
    try:
        tree = ast.parse(Path(origin).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    found: set[str] = set()
    used: set[str] = set()
    for node in _top_statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        else:
            names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
            found |= {inner.id for inner in names if isinstance(inner.ctx, ast.Store)}
            used |= {inner.id for inner in names}
    # What another module, or code that is run at import, may bind cannot be known from here.
    return None if found & {"*", "__getattr__"} or used & {"globals", "exec", "setattr", "vars"} else found


def _top_statements(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Statements that bind names of the module: those in `if`, `try`, `with` and loops as well."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        found.extend(inner for inner in ast.walk(node) if inner is not node and isinstance(inner, ast.stmt))
    return found
