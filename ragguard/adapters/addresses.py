"""Addresses of files and objects: what they mean, how they are shown without secrets, which are refused."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field

from ragguard.errors import ConfigError

Scheme = Literal["file", "s3", "gs", "az", "http"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_CLOUDS: dict[str, Scheme] = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "azure": "az"}
_METADATA_HOSTS = frozenset({"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"})
_METADATA_ADDRESSES = frozenset(
    ipaddress.ip_address(text) for text in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16")
)


NEAREST = 2
"""The nearness of this machine."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Access(BaseModel):
    """What may be reached, and how patiently.

    Attributes:
        allow_http: Whether plain http:// may go to other machines than this one.
        allow_link_local: Whether web addresses may be link-local or a cloud's metadata service.
        connect_timeout_s: Seconds to wait for a connection.
        read_timeout_s: Seconds to wait for the next bytes.
        retries: How often a request is sent again after a failure that may pass.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow_http: bool = False
    allow_link_local: bool = False
    connect_timeout_s: float = Field(default=10, gt=0)
    read_timeout_s: float = Field(default=60, gt=0)
    retries: int = Field(default=3, ge=0, le=10)


DEFAULT_ACCESS = Access()


@dataclass(frozen=True)
class Address:
    """A parsed address.

    Attributes:
        scheme: `http` stands for https too.
        root: Bucket or container; empty for files and the web.
        path: Path of a file, key of an object, or the whole URL.
    """

    scheme: Scheme
    root: str
    path: str


def parse_address(uri: str) -> Address:
    """Reads an address: a path, or a URL with file, s3, gs, az, https or http.

    `file://` followed by anything but a slash is a relative path: `file://.ragguard/runs`. Keys of objects are taken
    as they are written, without percent decoding.

    Raises:
        ConfigError: It is empty, of another kind, or names no bucket.
    """
    if not uri.strip() or "\x00" in uri:
        raise ConfigError("an address is empty or holds a NUL", mend="give a path or a URL")
    found = _URL.fullmatch(uri)
    if not found:
        return Address("file", "", uri)
    scheme, rest = found[1].lower(), found[2]
    if scheme == "file":
        return Address("file", "", unquote(rest.removeprefix("localhost") if rest.startswith("localhost/") else rest))
    if scheme in {"http", "https"}:
        return Address("http", "", uri)
    if scheme not in _CLOUDS:
        raise ConfigError(
            f"{redacted(uri)}: {scheme}:// cannot be read", mend="use a path, file://, s3://, gs://, az:// or https://"
        )
    root, _, path = rest.partition("/")
    if not root or "@" in root:
        raise ConfigError(
            f"{redacted(uri)}: names no bucket",
            mend=f"write {scheme}://bucket/key; credentials come from the environment, never from the address",
        )
    return Address(_CLOUDS[scheme], root, path.strip("/"))


def split_address(uri: str) -> tuple[str, str]:
    """Splits an address of a file into that of its folder and the file's name; not for the web.

    Raises:
        ConfigError: As `parse_address`; or there is no name.
    """
    address = parse_address(uri)
    folder, _, name = address.path.rpartition("/")
    if not name:
        raise ConfigError(f"{redacted(uri)}: is a folder, not a file", mend="add the file's name")
    if address.scheme == "file":
        return ("/" if address.path.startswith("/") and not folder else folder or "."), name
    return f"{address.scheme}://{address.root}/{folder}", name


def redacted(uri: str) -> str:
    """Shows an address without user information and without the values of its query."""
    found = _URL.fullmatch(uri)
    if not found:
        return uri
    try:
        parts = urlsplit(uri)
    except ValueError:
        return f"{found[1]}://…"
    netloc = f"***@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
    query = parts.query
    if query and parts.scheme.lower() in {"http", "https"}:
        query = urlencode([(name, "***") for name, _ in parse_qsl(query, keep_blank_values=True)], safe="*")
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def nearness(address: str) -> int:
    """How near a peer is: 0 on the internet, 1 in a private network, 2 this machine; a name counts as far."""
    number = _number(address)
    if address.lower().rstrip(".") == "localhost" or (number is not None and (number.is_loopback or not int(number))):
        return NEAREST
    return 0 if number is None or number.is_global else 1


def check_web_address(url: str, access: Access) -> None:
    """Refuses a web address that must not be asked.

    Raises:
        ConfigError: Plain http to another machine, a link-local or metadata address, or no host at all.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:  # its words repeat what stands before the `@`
        raise ConfigError(f"{redacted(url)}: is not a URL", mend="correct the address") from None
    if parts.scheme.lower() not in {"http", "https"} or not host:
        raise ConfigError(f"{redacted(url)}: is not a web address", mend="write https://host/path")
    if hands_out_credentials(host) and not access.allow_link_local:
        raise _refused(url)
    if parts.scheme.lower() == "http" and not access.allow_http and not _is_this_machine(host):
        raise ConfigError(
            f"{redacted(url)}: plain http:// can be read and changed on its way", mend="use https://, or set allow_http"
        )


def check_peer(url: str, address: str, access: Access) -> None:
    """Refuses a link-local or metadata address, given as a number; names pass.

    Raises:
        ConfigError: The address is refused.
    """
    if hands_out_credentials(address) and not access.allow_link_local:
        raise _refused(url)


def hands_out_credentials(host: str) -> bool:
    """Whether a host, as a name or a number, is link-local or a cloud's metadata service."""
    host = host.lower().rstrip(".")
    number = _number(host)
    return host in _METADATA_HOSTS or (number is not None and (number.is_link_local or number in _METADATA_ADDRESSES))


def _refused(url: str) -> ConfigError:
    return ConfigError(
        f"{redacted(url)}: leads to a link-local or metadata address, which may hand out credentials",
        mend="use another address, or set allow_link_local if that is what you mean",
    )


def _is_this_machine(host: str) -> bool:
    number = _number(host)
    return host.lower() == "localhost" or (number is not None and number.is_loopback)


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address given as a number, in every form that the system's resolver takes; None for a name."""
    try:
        number = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return _short_form(host)
    if isinstance(number, ipaddress.IPv4Address):
        return number
    # An IPv4 address in an IPv6 address's clothes is what it leads to.
    translated = ipaddress.IPv4Address(number.packed[12:]) if number in _NAT64 else None
    return number.ipv4_mapped or number.sixtofour or translated or number


def _short_form(host: str) -> ipaddress.IPv4Address | None:
    """Reads 2852039166, 0xa9fea9fe, 0251.0376.0251.0376 and 169.254.43518 as the resolver does."""
    if not host or not host[0].isdigit():
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None
