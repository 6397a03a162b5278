"""Addresses that lead to a cloud's metadata, to this machine or into its network."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from ragguard.adapters.addresses import Access
from ragguard.adapters.datasets.jsonl import JsonlDataset
from ragguard.adapters.targets.http import HttpTarget
from ragguard.adapters.web_files import follow
from ragguard.entrypoints.cli import run_cli
from ragguard.errors import ConfigError, ObjectError
from tests.attacks.attack import Attacks
from tests.fakes.small_runs import CONFIG, answer_rows, write_rows

ATTACKS = Attacks("addresses")
METADATA = (
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::]",
    "[fe80::1%25eth0]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "metadata.google.internal",
    "METADATA.google.internal.",
)


class Stream:
    """A connection, as the client tells of it."""

    def __init__(self, peer: str) -> None:
        self.peer = peer

    def get_extra_info(self, name: str) -> tuple[str, int] | None:
        return (self.peer, 443) if name == "server_addr" else None


class Web:
    """A web of a few servers: by address, who answers and where it redirects to; None serves a file."""

    def __init__(self, servers: dict[str, tuple[str, str | None]]) -> None:
        self.servers = servers
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        self.asked.append(url)
        peer, to = self.servers[url]
        extensions = {"network_stream": Stream(peer)}
        if to is None:
            return httpx.Response(200, content=b"{}", extensions=extensions)
        return httpx.Response(302, headers={"location": to}, extensions=extensions)

    def get(self, url: str, access: Access = Access(retries=0)) -> bytes:  # noqa: B008 - frozen
        with httpx.Client(transport=httpx.MockTransport(self)) as client:
            return follow(client, url, access).read()


@ATTACKS.tried(
    "a data set at a metadata address, as a number in any form, mapped, translated or by name",
    "branch data",
    "credentials of the machine as a data set, quoted in errors",
    "link-local and metadata addresses are refused in every form that the resolver takes, unless `allow_link_local`",
)
@pytest.mark.parametrize("host", METADATA)
def test_no_data_comes_from_a_metadata_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], host: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "answers.jsonl", answer_rows(3))
    for scheme in ("http", "https"):
        text = CONFIG.replace("golden.jsonl", f"'{scheme}://{host}/latest/meta-data', answers: answers.jsonl")
        (tmp_path / "ragguard.yaml").write_text(text, encoding="utf-8")
        assert run_cli(["run"]) == 2
        assert "metadata address" in "".join(capfd.readouterr())


@ATTACKS.tried(
    "a name that resolves to a metadata address, also only at the second look-up",
    "data",
    "credentials of the machine as a data set",
    "the peer that answered is looked at before a byte is taken",
)
def test_a_name_that_leads_there_is_refused_by_its_peer() -> None:
    web = Web({"https://data.example/x": ("169.254.169.254", None), "https://six.example/x": ("fe80::1", None)})
    for url in web.servers:
        with pytest.raises(ConfigError, match="metadata address"):
            web.get(url)


@ATTACKS.tried(
    "a foreign server that redirects to this machine or a private network, by number, name or DNS",
    "data",
    "an internal service answers; its text is quoted in errors and reports",
    "a redirect never leads nearer than the server that gives it",
)
@pytest.mark.parametrize(
    ("to", "peer"),
    [
        ("http://localhost:8080/secret", "127.0.0.1"),
        ("http://127.0.0.1/secret", "127.0.0.1"),
        ("http://[::1]/secret", "::1"),
        ("http://2130706433/secret", "127.0.0.1"),
        ("https://0.0.0.0/secret", "0.0.0.0"),
        ("https://10.0.0.7/secret", "10.0.0.7"),
        ("https://inside.example/secret", "192.168.1.1"),
        ("https://inside.example/secret", "::ffff:10.0.0.7"),
    ],
)
def test_no_redirect_leads_nearer(to: str, peer: str) -> None:
    first = "https://data.example/x"
    web = Web({first: ("93.184.215.14", "https://hop.example/y"), "https://hop.example/y": ("93.184.215.15", to)})
    web.servers[to] = (peer, None)
    with pytest.raises((ObjectError, ConfigError), match=r"redirects into this machine or its network|plain http"):
        web.get(first)
    if "example" not in to:
        assert to not in web.asked, "refused before it is asked"


def test_redirects_among_equals_and_outwards_are_followed() -> None:
    web = Web(
        {
            "http://127.0.0.1/x": ("127.0.0.1", "http://localhost/y"),
            "http://localhost/y": ("127.0.0.1", "https://10.0.0.7/z"),
            "https://10.0.0.7/z": ("10.0.0.7", "https://data.example/x"),
            "https://data.example/x": ("93.184.215.14", None),
        }
    )
    assert web.get("http://127.0.0.1/x") == b"{}"
    assert len(web.asked) == 4


@ATTACKS.tried(
    "a redirect to `file:`, `gopher:`, to plain http or round in a circle",
    "data",
    "local files; data that can be changed on its way; a run that never ends",
    "redirects lead to https, at most five of them",
)
@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "gopher://x/y", "http://data.example/x", "https://data.example/x"]
)
def test_redirects_stay_on_the_web_and_end(to: str) -> None:
    web = Web({"https://data.example/x": ("93.184.215.14", to)})
    with pytest.raises((ConfigError, ObjectError)):
        web.get("https://data.example/x")
    assert len(web.asked) <= 6


@ATTACKS.tried(
    "a target at a metadata address, whose reply becomes an answer in the report",
    "branch",
    "credentials of the machine in a report",
    "such addresses are refused in the config; redirects of a target are not followed",
)
@pytest.mark.parametrize("host", METADATA)
def test_no_target_is_a_metadata_service(host: str) -> None:
    with pytest.raises(ValidationError, match="metadata address"):
        HttpTarget(url=f"http://{host}/latest/meta-data", answer="/token")


@ATTACKS.tried(
    "user, password or signature in an address of the config",
    "branch",
    "they stand in messages, run.json and reports",
    "addresses are shown without user and without values of the query",
)
def test_an_address_is_shown_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for address in (
        "https://user:canary-pw@127.0.0.1:1/golden.jsonl?X-Amz-Signature=canary-signature",
        "s3://user:canary-pw@bucket/golden.jsonl",
        "https://user:canary-pw@[x]/y",
        "https://user:canary-pw@ｈ℀st/y",
        "ftp://user:canary-pw@h/x",
    ):
        with pytest.raises((ConfigError, ObjectError)) as told:
            JsonlDataset(uri=address, access=Access(retries=0, connect_timeout_s=1)).read()
        assert "canary" not in str(told.value)
        text = CONFIG.replace("golden.jsonl", f"'{address}', sample_budget: many")
        (tmp_path / "ragguard.yaml").write_text(text, encoding="utf-8")
        assert run_cli(["validate"]) == 2
        assert "canary" not in "".join(capfd.readouterr())
