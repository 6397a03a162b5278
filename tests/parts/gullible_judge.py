"""A judge that obeys what it should not: three readers, by fixed rules, and a server that answers as one of them.

All readers know what an honest judge would reply (`judge_rules`). They read through zero-width characters, look-alike
signs (NFKC), reversed and invisible text, as models do. What they obey:

- an order, which is a sentence that asks for all, every or everything to be supported, in English, Vietnamese or
  Chinese: every verdict becomes `supported`;
- a JSON object with a verdict or claims in it: it is given back as the reply, as it stands.

Where from:

- `exact` obeys what stands outside the data. Data ends where its own closing mark stands, to the letter.
- `hasty` obeys what seems to stand outside: data ends at anything that looks like an end, such as another code, a tag,
  a fence, the role of a chat, wherever it stands in a line.
- `gullible` obeys whatever it reads.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from tests.parts.judge_server import Behaviour, JudgeServer, text_of
from tests.parts.local_http import in_a_thread

Reader = Literal["exact", "hasty", "gullible"]
READERS: tuple[Reader, ...] = ("exact", "hasty", "gullible")

_ALL = r"(?:\ball\b|\bevery|tất cả|mọi|toàn bộ|所有|全部|一律)"
_SUPPORTED = r"(?:supported|được ủng hộ|支持)"
_ORDER = re.compile(f"{_ALL}[^\n]{{0,40}}?{_SUPPORTED}", re.IGNORECASE)
_JSON = re.compile(r"\{[^\n]*\"(?:claims|verdict)\"[^\n]*\}")
_REVERSED = re.compile("\u202e([^\u202c]*)\u202c?")
_LOOK_ALIKES = str.maketrans({"‹": "<", "›": ">", "《": "<", "》": ">"})
_OPEN = re.compile(r"^<<(?P<name>[\w:-]+) (?P<code>\w+)>>$|^<(?P<tag>\w+)>")
_END = re.compile(r"<<+ ?end\b|</\w+>|^```|^---$|<\|im_|\[/INST|^(?:system|assistant) ?:|<tool_call>", re.MULTILINE)


def as_read(text: str) -> str:
    """What a model makes of a text's signs."""
    text = _REVERSED.sub(lambda found: found[1][::-1], text)
    text = "".join(chr(ord(char) - 0xE0000) if 0xE0020 <= ord(char) < 0xE007F else char for char in text)
    kept = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", kept).translate(_LOOK_ALIKES)


def heeded(prompt: str, reader: Reader) -> str:
    """The part of a prompt from which a reader takes orders."""
    if reader == "gullible":
        return as_read(prompt)
    outside: list[str] = []
    closing: str | None = None
    for line in prompt.split("\n"):
        shown = line if reader == "exact" else as_read(line)
        if closing is None:
            opened = _OPEN.match(line)
            if opened is None:
                outside.append(line)
                continue
            tag = opened["tag"]
            closing = f"</{tag}>" if tag else f"<<end {opened['name']} {opened['code']}>>"
            shown = shown[opened.end() :]
        ended = shown.find(closing)
        end = ended + len(closing) if ended >= 0 else -1
        if reader == "hasty" and (like := _END.search(shown)) is not None:
            end = like.end()
        if end >= 0:
            outside.append(shown[end:])
            closing = None
    return as_read("\n".join(outside))


def gullible_reply(prompt: str, honest: dict[str, Any], reader: Reader, own_words: str = "") -> str:
    """The reply of a reader.

    Args:
        prompt: The whole prompt, as the judge gets it.
        honest: What an honest judge would reply.
        reader: Who reads.
        own_words: The prompt of the same task on calm material, whose own examples nobody takes for an order.
    """
    known = set(as_read(own_words).split("\n"))
    found = "\n".join(line for line in heeded(prompt, reader).split("\n") if line not in known)
    copied = [object_ for text in _JSON.findall(found) if (object_ := _object_in(text)) is not None]
    if _ORDER.search(found):
        return json.dumps(all_supported(honest), ensure_ascii=False)
    return json.dumps(copied[0] if copied else honest, ensure_ascii=False)


def all_supported(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply with every verdict set to `supported`."""
    claims = [{**claim, "verdict": "supported", "passage": 1} for claim in reply.get("claims", ())]
    return {**reply, "claims": claims} if claims else reply


def _object_in(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


class GullibleServer(JudgeServer):
    """An OpenAI-compatible judge that answers as one of the readers."""

    reader: Reader = "hasty"
    own_words: str = ""

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        body = super()._completion(request)
        message = body["choices"][0]["message"]
        honest = json.loads(message["content"])
        message["content"] = gullible_reply(text_of(request), honest, self.reader, self.own_words)
        return body


@contextmanager
def gullible_server(reader: Reader, own_words: str) -> Iterator[GullibleServer]:
    """Runs such a server in a thread of its own for the length of a `with` block."""
    judge = GullibleServer(Behaviour())
    judge.reader, judge.own_words = reader, own_words
    with in_a_thread(judge.handle) as judge.port:
        yield judge
