"""Replies broken on purpose: each kind takes a good reply and gives the text that a bad judge would send.

None may ever be scored as something else than the good reply: it is either read rightly or asked for again.
"""

import json
from collections.abc import Callable
from typing import Any

Reply = dict[str, Any]
Broken = tuple[str | None, str]
"""The content (None: null) and the finish reason."""


def _text(reply: Any) -> str:
    return json.dumps(reply, ensure_ascii=False)


def _changed(reply: Reply, change: Callable[[list[Any]], list[Any]]) -> str:
    """Changes the longest list of a reply."""
    lists = [key for key, value in reply.items() if isinstance(value, list)]
    if not lists:
        return "{}"
    longest = max(lists, key=lambda key: len(reply[key]))
    return _text({**reply, longest: change(reply[longest])})


def _renumbered(item: Any) -> Any:
    if isinstance(item, dict):
        return {**item, "source": 999} if "source" in item else {}
    return 999 if isinstance(item, int) else ""


KINDS: dict[str, Callable[[Reply], Broken]] = {
    "fence": lambda reply: (f"```json\n{_text(reply)}\n```", "stop"),
    "prose": lambda reply: (
        f"Sure! Here is the result:\n\n{_text(reply)}\n\nLet me know if {{you}} need more.",
        "stop",
    ),
    "thinking": lambda reply: (f'<think>Maybe {{"relevant": []}}?</think>{_text(reply)}', "stop"),
    "trailing comma": lambda reply: (_text(reply)[:-1] + ",}", "stop"),
    "single quotes": lambda reply: (repr(reply), "stop"),
    "unquoted keys": lambda reply: (
        "{" + ", ".join(f"{key}: {_text(value)}" for key, value in reply.items()) + "}",
        "stop",
    ),
    "cut told": lambda reply: (_text(reply)[: max(1, len(_text(reply)) // 2)], "length"),
    "cut untold": lambda reply: (_text(reply)[: max(1, len(_text(reply)) * 2 // 3)], "stop"),
    "no last brace": lambda reply: (_text(reply)[:-1], "stop"),
    "empty": lambda reply: ("", "stop"),
    "null": lambda reply: (None, "stop"),
    "refusal": lambda reply: ("I'm sorry, but I can't help with that.", "stop"),
    "filtered": lambda reply: ("", "content_filter"),
    "one missing": lambda reply: (_changed(reply, lambda items: items[:-1]), "stop"),
    "one twice": lambda reply: (_changed({**reply, "no_claim": [1, 1]}, lambda items: [*items, *items[:1]]), "stop"),
    "one unknown": lambda reply: (
        _changed(reply, lambda items: [*items[:-1], _renumbered(items[-1])] if items else [999]),
        "stop",
    ),
    "html": lambda reply: ("<html><body>502 Bad Gateway</body></html>", "stop"),
    "a list": lambda reply: (_text(list(reply.values())), "stop"),
    "wrapped": lambda reply: (_text({"result": reply}), "stop"),
    "two objects": lambda reply: (_text(reply) + "\n" + _changed(reply, lambda items: items[:-1]), "stop"),
    "not a number": lambda reply: (_text({**reply, next(iter(reply)): float("nan")}), "stop"),
    "nonsense": lambda reply: ("{{{{[[[[" * 4_000, "stop"),
}
"""All kinds by name."""
