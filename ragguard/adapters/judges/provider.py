"""The only room that knows LiteLLM's chat: one call sent, its reply or its trouble brought to a few plain fields."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ragguard.adapters.judges.manners import Form
from ragguard.adapters.judges.troubles import TroubleError, trouble_of
from ragguard.adapters.litellm_clients import litellm_module, unlogged
from ragguard.adapters.redaction import foreign
from ragguard.core.text import one_line

_GRACE_S = 5.0
_NO_KEY = "none"


@dataclass(frozen=True)
class Completion:
    """One reply.

    Attributes:
        text: None or empty where the model gave none.
        finish: `stop`, `length`, `content_filter` …
        model: The model that the provider says replied.
        cost_usd: By LiteLLM's price list; None where the price is unknown.
    """

    text: str | None
    finish: str
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True)
class Facts:
    """What LiteLLM knows of a model without asking it.

    Attributes:
        form: The best form of reply to begin with.
        caches_by_mark: Whether prompt caching wants a mark on the part to cache (Anthropic's models).
        window: Tokens of prompt and reply; None where unknown.
        longest_reply: Tokens of a reply, at most; None where unknown.
        price: US dollars for a token of the prompt and of the reply; None where unknown.
        missing_keys: Environment variables that the provider wants and that are not set.
        provider: The provider's name; None where LiteLLM knows none of that name.
    """

    form: Form
    caches_by_mark: bool
    window: int | None
    longest_reply: int | None
    price: tuple[float, float] | None
    missing_keys: tuple[str, ...]
    provider: str | None


async def facts(model: str, api_base: str | None) -> Facts:
    """Looks a model up in LiteLLM's own tables; sends nothing."""
    litellm = await asyncio.to_thread(litellm_module)
    provider = _or_none(lambda: litellm.get_llm_provider(model, api_base=api_base)[1])
    info = _or_none(lambda: litellm.get_model_info(model)) or {}
    missing = (_or_none(lambda: litellm.validate_environment(model, api_base=api_base)) or {}).get("missing_keys", ())
    return Facts(
        form=_first_form(litellm, model, known=bool(info)),
        caches_by_mark="claude" in model.casefold() or provider == "anthropic",
        window=info.get("max_input_tokens") or info.get("max_tokens"),
        longest_reply=info.get("max_output_tokens"),
        price=_price(info),
        missing_keys=tuple(missing),
        provider=provider,
    )


def _price(info: Mapping[str, Any]) -> tuple[float, float] | None:
    prompt, reply = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    # A price of nothing stands for a model whose price LiteLLM does not know: unknown, never free.
    return (prompt, reply) if prompt and reply else None


def _first_form(litellm: Any, model: str, *, known: bool) -> Form:
    """A model in the tables is believed; any other is tried, since most servers of one's own take a schema."""
    if not known or _or_none(lambda: litellm.supports_response_schema(model=model)):
        return "schema"
    supported = _or_none(lambda: litellm.get_supported_openai_params(model)) or ()
    return "object" if "response_format" in supported else "plain"


def _or_none(ask: Any) -> Any:
    """LiteLLM raises many kinds of errors for a model that its tables do not hold."""
    try:
        return ask()
    except Exception:  # noqa: BLE001
        return None


async def complete(
    model: str,
    messages: Sequence[Mapping[str, Any]],
    arguments: Mapping[str, Any],
    *,
    api_base: str | None,
    keyless: bool,
    timeout_s: float,
) -> Completion:
    """Sends one call, once.

    Args:
        model: As LiteLLM names it.
        messages: The chat.
        arguments: Sampling parameters and the reply's form.
        api_base: The server's address; None for the provider's own.
        keyless: Whether to send a placeholder where no key is set, for servers of one's own that want none.
        timeout_s: Seconds until the call is given up.

    Raises:
        TroubleError: There is no reply; its kind says what to do.
    """
    litellm = litellm_module()
    extra: dict[str, Any] = {"api_base": api_base} if api_base else {}
    if keyless:
        extra["api_key"] = _NO_KEY
    try:
        with unlogged():
            async with asyncio.timeout(timeout_s + _GRACE_S):
                response = await litellm.acompletion(
                    model=model,
                    messages=list(messages),
                    timeout=timeout_s,
                    max_retries=0,
                    num_retries=0,
                    **extra,
                    **arguments,
                )
    except TimeoutError as error:
        raise TroubleError("timeout", f"no reply within {timeout_s:g} s") from error
    except Exception as error:  # LiteLLM's errors share no base of their own
        raise trouble_of(error) from error
    return _completion(response)


@lru_cache(maxsize=64)
def _shown_model(name: str) -> str:
    """The model that replied, as the provider calls it: its words, which reports and stores keep."""
    return foreign(one_line(name))[:200]


def _completion(response: Any) -> Completion:
    if not getattr(response, "choices", None):
        raise TroubleError("overloaded", "the reply holds no choices")
    choice = response.choices[0]
    usage = getattr(response, "usage", None)
    hidden = getattr(response, "_hidden_params", None) or {}
    return Completion(
        text=choice.message.content,
        finish=str(choice.finish_reason or "stop"),
        model=_shown_model(str(response.model)) if response.model else None,
        prompt_tokens=getattr(usage, "prompt_tokens", None),
        completion_tokens=getattr(usage, "completion_tokens", None),
        cost_usd=hidden.get("response_cost"),
    )
