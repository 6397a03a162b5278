"""Reads reports as their readers' programs do: Markdown as a code host, log lines as a CI runner."""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

OWN_TAGS = {"<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>"}
_MENTION = re.compile(r"(?:^|[^\w`])@[a-z0-9]", re.IGNORECASE)
_REFERENCE = re.compile(r"#\d|\bGH-\d|\b[0-9a-f]{40}\b", re.IGNORECASE)


def parse(text: str) -> list[Token]:
    """Parses as GitHub does: tables, strikethrough, HTML, and addresses that become links by themselves."""
    reader = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(["table", "strikethrough", "linkify"])
    assert reader.linkify is not None
    reader.linkify.set({"fuzzy_link": False, "fuzzy_email": True})
    return reader.parse(text)


def blocks(tokens: list[Token]) -> list[str]:
    """The shape of a document: its blocks in order, whatever words they hold."""
    return [token.type for token in tokens]


def inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "html_block":
            yield token
        yield from token.children or ()


def links(tokens: list[Token]) -> set[str]:
    return {str(token.attrs["href"]) for token in inline(tokens) if token.type == "link_open"}


def foreign_markup(tokens: list[Token]) -> list[str]:
    """Markup that no template of ours writes."""
    found = []
    for token in inline(tokens):
        if token.type in {"image", "s_open", "em_open"}:
            found.append(token.type)
        if token.type in {"html_inline", "html_block"}:
            found += [tag for tag in re.findall(r"<[^>]*>", token.content) if tag not in OWN_TAGS]
    return found


def pings(tokens: list[Token]) -> list[str]:
    """Mentions and references that a code host would act on; it leaves code alone."""
    found, in_code = [], False
    for token in inline(tokens):
        if token.type == "html_inline" and token.content in {"<code>", "</code>"}:
            in_code = token.content == "<code>"
        if token.type == "text":
            found += _MENTION.findall(token.content)
            found += [] if in_code else _REFERENCE.findall(token.content)
    return found


def commands(text: str) -> list[str]:
    """Lines that a CI runner would take for a command, in either of its two forms."""
    lines = re.split(r"\r\n|\n|\r", text)
    return [line for line in lines if (line.strip().startswith("::") and "::" in line.strip()[2:]) or "##[" in line]


def controls(text: str) -> list[str]:
    """Characters that a terminal acts on, or that turn the reading direction."""
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
