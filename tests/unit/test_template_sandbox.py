"""What no single expression of a template may make, and what it may."""

from __future__ import annotations

import pytest
from jinja2 import StrictUndefined
from jinja2.exceptions import SecurityError, TemplateError

from ragguard.template_sandbox import Sandbox

SANDBOX = Sandbox(undefined=StrictUndefined)


def rendered(source: str, **values: object) -> str:
    return SANDBOX.from_string(source).render(**values)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 9 ** 9 ** 9 }}",
        "{{ 2 ** -1001 }}",
        "{{ 'học phí' * 10 ** 9 }}",
        "{{ 10 ** 9 * [0] }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' % (1000000000, 1) }}",
        "{{ '%.1000000000f'|format(1.0) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ '%(a)-1000000000s' % {'a': 1} }}",
        "{{ '{:>{}}'.format(1, 1000000000) }}",
        "{{ '{a:>1000000000}'.format_map({'a': 1}) }}",
        "{{ 'a'.center(10) }}",
        "{{ 'a'.zfill(1000000000) }}",
        "{{ 'a'|center(1000000000) }}",
        "{{ 'a\\nb'|indent(width=1000000000) }}",
        "{{ 1.5|round(1000000000, 'ceil') }}",
        "{{ [1]|batch(1000000000, 0)|list }}",
        "{{ [1]|tojson(1000000000) }}",
        "{% for i in range(10001) %}{% endfor %}",
        "{{ ''.__class__ }}",
    ],
)
def test_what_would_never_end_or_fit_is_refused(source: str) -> None:
    with pytest.raises(SecurityError):
        rendered(source)


def test_there_is_no_filler_text() -> None:
    with pytest.raises(TemplateError, match="lipsum"):
        rendered("{{ lipsum(n=1000000000) }}")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ 2 ** 10 }} {{ 3 * 4 }} {{ 7 % 4 }}", "1024 12 3"),
        ("{{ '-' * 5 }}{{ 2 * '=' }}", "-----=="),
        ("{{ [0] * 3 }}", "[0, 0, 0]"),
        ("{{ 0.5 * 3 }} {{ value * 100 }}", "1.5 25.0"),
        ("{{ '%05.1f %%' % 12.34 }}", "012.3 %"),
        ("{{ '%s: %s'|format('a', 2026) }}", "a: 2026"),
        ("{{ 'năm 2026: **%s** %5.1f%% 1234' % ('học phí', 0.5) }}", "năm 2026: **học phí**   0.5% 1234"),
        ("{{ '{} 2026 {:>4}: 12345'.format(1, 2) }}", "1 2026    2: 12345"),
        ("{{ '{:.2f} {}'.format(1.005, '学费') }}", "1.00 学费"),
        ("{{ 2026|tojson }} {{ [1]|tojson(1) }}", "2026 [\n 1\n]"),
        ("{{ 123456|round }} {{ 1.26|round(1) }}", "123456 1.3"),
        ("{{ 'a'|center(3) }}|{{ 'a\nb'|indent(2) }}", " a |a\n  b"),
        ("{{ 'một hai ba'|wordwrap(7) }}", "một hai\nba"),
        ("{% for i in range(2, 8, 3) %}{{ i }} {% endfor %}", "2 5 "),
    ],
)
def test_what_reports_need_is_left(source: str, text: str) -> None:
    assert rendered(source, value=0.25) == text
