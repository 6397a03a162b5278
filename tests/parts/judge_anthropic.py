"""The shape of Anthropic's API over the test judge: requests brought to the OpenAI shape, replies brought back."""

from typing import Any


def as_openai(request: dict[str, Any]) -> dict[str, Any]:
    """A request to `/v1/messages` as the judge reads it; its own body is kept under `anthropic`."""
    system = request.get("system") or ()
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
    return {
        "model": request["model"],
        "max_tokens": request["max_tokens"],
        "messages": [{"role": "system", "content": blocks}, *request["messages"]],
        "anthropic": request,
    }


def as_anthropic(reply: dict[str, Any]) -> dict[str, Any]:
    """A chat completion as Anthropic writes it."""
    (choice,) = reply["choices"]
    return {
        "id": reply["id"],
        "type": "message",
        "role": "assistant",
        "model": reply["model"],
        "content": [{"type": "text", "text": choice["message"]["content"] or ""}],
        "stop_reason": {"length": "max_tokens", "content_filter": "refusal"}.get(choice["finish_reason"], "end_turn"),
        "usage": {
            "input_tokens": reply["usage"]["prompt_tokens"],
            "output_tokens": reply["usage"]["completion_tokens"],
        },
    }
