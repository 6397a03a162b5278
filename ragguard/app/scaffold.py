"""What `ragguard init` writes into a repository: the config, an example golden set, the workflows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import Environment

from ragguard.app.config_schema import config_schema_text
from ragguard.template_files import template_loader, templates_folder

ACTION = "ragguard/ragguard@v1"
SCHEMA = ".github/ragguard.schema.json"
WORKFLOWS = ("ragguard-pr.yml", "ragguard-nightly.yml", "ragguard-manual.yml", "ragguard-comment.yml")
EXAMPLES = ("golden.jsonl", "answers.jsonl")
FOR_FORKS = "ragguard-fork.yml"
_KEY = "ANTHROPIC_API_KEY"
_EMBEDDER = re.compile(r" *# >>> embedder\n.*? *# <<< embedder\n\n?", re.DOTALL)
_EMBEDDER_MARK = re.compile(r" *# (?:>>>|<<<) embedder\n")
_FOLDER = re.compile(r"(?m)^( *)(path: |if: .*hashFiles\(')(\.ragguard|answers\.jsonl)")


@dataclass(frozen=True)
class Plan:
    """What is known of the repository, and what the user wants.

    Attributes:
        branch: The default branch.
        repository: `owner/name`; None where it is unknown.
        folder: The config's folder, from the repository's root; "" for the root itself.
        judge: The judge's model, or `offline`.
        dataset: The golden set; None writes an example.
        action: `owner/name@ref` of the action.
        forks: Whether labelled pull requests of forks are judged with secrets.
    """

    suite: str = "default"
    branch: str = "main"
    repository: str | None = None
    folder: str = ""
    judge: str = "offline"
    dataset: str | None = None
    action: str = ACTION
    forks: bool = False

    @property
    def key(self) -> str | None:
        """The variable that holds the judge's key, by the providers' custom."""
        provider = re.sub(r"\W", "_", self.judge.partition("/")[0]).upper()
        return None if self.judge == "offline" else f"{provider}_API_KEY"


def scaffold(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yields the files: path from the repository's root, and content."""
    at = f"{plan.folder}/" if plan.folder else ""
    yield f"{at}ragguard.yaml", config_text(plan)
    if plan.dataset is None:
        for name in EXAMPLES:
            yield f"{at}{name}", (templates_folder() / "init" / name).read_text(encoding="utf-8")
    yield f"{at}.ragguard/.gitignore", "*\n"
    yield SCHEMA, config_schema_text() + "\n"
    for name in (*WORKFLOWS, *((FOR_FORKS,) if plan.forks else ())):
        yield f".github/workflows/{name}", workflow_text(name, plan)


def config_text(plan: Plan) -> str:
    """ragguard.yaml; what comes from outside is written as YAML that nothing can break out of."""
    up = "../" * len([part for part in plan.folder.split("/") if part])
    template = Environment(loader=template_loader(None), autoescape=False, keep_trailing_newline=True).get_template(  # noqa: S701 - YAML
        "init/ragguard.yaml.j2"
    )
    return template.render(
        schema=f"{up or './'}{SCHEMA}",
        suite=_scalar(plan.suite),
        dataset=_scalar(plan.dataset or "golden.jsonl"),
        answers="answers.jsonl" if plan.dataset is None else None,
        judge=_scalar(plan.judge),
        key=plan.key,
        repository=plan.repository,
    )


def workflow_text(name: str, plan: Plan) -> str:
    """A workflow for this repository: its branch, folder and judge's key, and the embedder only where it is used."""
    text = (templates_folder() / "workflows" / name).read_text(encoding="utf-8")
    if plan.key is None:
        text = _EMBEDDER.sub("", text)
        text = re.sub(rf" *(?:{_KEY}|RAGGUARD_EMBEDDER_API_BASE):.*\n", "", text)
        text = re.sub(r" *env:\n(?! {10})", "", text)
    else:
        text = _EMBEDDER_MARK.sub("", text).replace(_KEY, plan.key)
    if plan.branch != "main":
        text = text.replace("branches: [main]", f"branches: [{json.dumps(plan.branch)}]")
    if plan.action != ACTION:
        text = text.replace(f"uses: {ACTION}", f"uses: {plan.action}")
    return _in_folder(text, plan.folder) if plan.folder else text


def _in_folder(text: str, folder: str) -> str:
    """The workflow for a config that is not at the repository's root."""
    text = _FOLDER.sub(lambda found: f"{found[1]}{found[2]}{folder}/{found[3]}", text)
    given = f"          working-directory: {json.dumps(folder)}\n"
    text = re.sub(r"(?m)^( *uses: [^\n]*ragguard@[^\n]*\n *with:\n)(?!          report:)", rf"\g<1>{given}", text)
    return text.replace("answers: untrusted/", f"answers: {'../' * (folder.count('/') + 1)}untrusted/")


def _scalar(text: str) -> str:
    """A text as a YAML scalar: plain where that is safe, else in quotes."""
    return text if re.fullmatch(r"[A-Za-z][\w./-]*(?::/?/?[\w./-]+)?", text) else json.dumps(text, ensure_ascii=False)
