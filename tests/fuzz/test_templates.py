"""A user's own templates: rendered, or refused by name; no way out of the sandbox, and no unbounded work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from ragguard.adapters.judges.prompts import Prompts
from ragguard.adapters.renderers.html import render_html
from ragguard.adapters.renderers.markdown import render_markdown
from ragguard.adapters.targets.bodies import RenderError, render
from ragguard.core.samples import Sample
from tests.fakes.reports import make_report
from tests.fuzz.harness import attempt, fuzzed, scratch
from tests.fuzz.mutations import texts
from tests.fuzz.test_replies import ANSWER, METRICS, SAMPLE

ESCAPES = (
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ report.__init__.__globals__ }}",
    "{{ words.__dict__ }}",
    "{{ words.Path.cwd() }}",
    "{{ (report|attr('__class__')).__mro__ }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].environ }}",
    "{{ '%c' % 10**9 }}{{ '{0.__class__.__init__.__globals__}'.format(report) }}",
    "{{ '{0.__class__}'.format_map({'0': 1}) }}",
    "{% include '/etc/passwd' %}",
    "{% include '../../pyproject.toml' %}",
    "{% import 'os' as os %}{{ os.environ }}",
    "{% extends report %}",
    "{% for i in range(99999999) %}x{% endfor %}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ 'a' * 10 ** 12 }}",
    "{{ [0] * 10 ** 12 }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:>1000000000}'.format(1) }}",
    "{{ 'a'.ljust(10 ** 10) }}",
    "{{ 'a'|center(10 ** 10) }}",
    "{{ lipsum(n=10**9) }}",
    "{{ 1 / 0 }}",
    "{{ 1 + 'a' }}",
    "{{ report.nothing.at_all }}",
    "{{ report() }}",
    "{{ undefined_name }}",
    "{{ [1, 2]|sum('x') }}",
    "{{ 'x'|int(base=99) }}",
    "{{ none.x }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% set x = namespace(a=1) %}{% set x.a = report %}{{ x.a }}",
    "{% include 'report.md.j2' %}",
    "{% include self._TemplateReference__context.name %}",
)
words = st.sampled_from(
    ["{{", "}}", "{%", "%}", " report", ".", "metrics", "|", "safe", "e", "tojson", "for x in", "endfor", "if", "endif", "(", ")", "[0]",
     "'", "1", "*", "**", "%", "~", "question", "history", "__class__", "{#", "#}", "raw", "\n", "visible", "code", "link", " is defined"]
)  # fmt: skip
sources = st.one_of(st.sampled_from(ESCAPES), st.lists(words, max_size=12).map("".join), texts)
LEAKS = ("<class ", "root:x:", "/etc/passwd", "<module ", "built-in method", "subprocess", "hatchling", "PATH")
TASKS = [task for metric in METRICS for task in metric.tasks(SAMPLE, ANSWER)]
REPORT = make_report("failed")


def held(render_it: Callable[[], str]) -> None:
    """Renders; what comes of it is text without a leak, or a refusal with words."""
    try:
        text = attempt(render_it)
    except RenderError:
        return
    if text is None:
        return
    assert not [leak for leak in LEAKS if leak in text], text[:300]
    assert len(text) < 20_000_000


def written(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source.encode("utf-8", "replace").decode(), encoding="utf-8")
    return folder


@fuzzed(60, source=sources)
def test_a_prompt_of_the_users_own(source: str) -> None:
    with scratch() as folder:
        prompts = Prompts(written(folder, "judge/claims.j2", source))
        held(lambda: prompts.render(TASKS[0]).user)


@fuzzed(50, source=sources, name=st.sampled_from(["report.md.j2", "_report.md.j2", "report.html.j2"]))
def test_a_report_of_the_users_own(source: str, name: str) -> None:
    with scratch() as folder:
        templates = written(folder, name, source)
        held(lambda: (render_html if "html" in name else render_markdown)(REPORT, templates=templates))


@fuzzed(60, source=sources, question=texts)
def test_a_body_of_the_users_own(source: str, question: str) -> None:
    held(lambda: render(source, Sample(id="a", question=question or "?")))
