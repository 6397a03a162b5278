"""The contract of stores over a local folder; and that no implementation is left out of it."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import ragguard.adapters.stores
from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.core.ports import Store
from tests.contracts.stores import OpenStore, StoreContract


class TestDirectoryStore(StoreContract):
    implementation = DirectoryStore

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return lambda: DirectoryStore(uri=str(tmp_path / "lượt chạy"))


def test_no_implementation_is_left_out() -> None:
    importlib.import_module("tests.real.test_store_contract")
    promised = {name for name in vars(Store) if not name.startswith("_")}
    found = set()
    for module in pkgutil.iter_modules(ragguard.adapters.stores.__path__):
        members = vars(importlib.import_module(f"ragguard.adapters.stores.{module.name}"))
        found |= {
            each
            for each in members.values()
            if inspect.isclass(each) and promised <= set(dir(each)) and each is not Store
        }
    assert {"heads", "head", "samples", "save", "event", "events"} <= promised
    assert DirectoryStore in found
    assert found == {suite.implementation for suite in StoreContract.__subclasses__()}
