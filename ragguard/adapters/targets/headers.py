"""What a request may carry: its address and headers, with secrets only from variables that are meant for it."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict

from ragguard.adapters.addresses import hands_out_credentials
from ragguard.adapters.targets.wording import Redactor
from ragguard.errors import UserInputError

_SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
_SECRET_NAME = re.compile(r"RAGGUARD_TARGET_[A-Z0-9_]+")


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not url.isprintable() or " " in url:
        raise ValueError("is no http or https URL")
    if parts.username is not None or parts.password is not None:
        raise ValueError("holds a user name or password; give them by `auth` instead")
    if hands_out_credentials(parts.hostname):
        raise ValueError("leads to a link-local or metadata address, which may hand out credentials")
    _ = parts.port  # raises ValueError where it is no port
    return url


def _checked_secret_name(name: str) -> str:
    # A changed config must not be able to carry another program's secret to a foreign address.
    if not _SECRET_NAME.fullmatch(name):
        raise ValueError("only variables whose names start with RAGGUARD_TARGET_ are sent to a target")
    return name


def _checked_header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise ValueError("is no name of an HTTP header")
    return name


def _checked_header_value(value: str) -> str:
    if not _HEADER_VALUE.fullmatch(value):
        raise ValueError("is no value of an HTTP header: printable ASCII on one line")
    return value


Url = Annotated[str, AfterValidator(_checked_url)]
SecretName = Annotated[str, AfterValidator(_checked_secret_name)]
HeaderName = Annotated[str, AfterValidator(_checked_header_name)]
HeaderValue = Annotated[str, AfterValidator(_checked_header_value)]


class HttpAuth(BaseModel):
    """An Authorization header.

    Attributes:
        scheme: `bearer`, or `basic`.
        env: Environment variable with the token, or with `user:password`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheme: Literal["bearer", "basic"] = "bearer"
    env: SecretName


def check_headers(headers: Mapping[str, str], headers_env: Mapping[str, str], auth: HttpAuth | None) -> None:
    """Makes sure that no secret stands in the config and no header is given twice.

    Raises:
        ValueError: One of both is so.
    """
    for name in headers:
        if name.lower() in _SECRET_HEADERS:
            raise ValueError(f"headers: {name} holds a secret; use `auth` or `headers_env`")
    names = [name.lower() for name in (*headers, *headers_env, *(["authorization"] if auth else []))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the header {twice[0]} is given twice")


def secret_headers(
    headers_env: Mapping[str, str], auth: HttpAuth | None, value_of: Callable[[str], str]
) -> tuple[dict[str, str], Redactor]:
    """Returns the headers that carry secrets, and what blots these out of messages.

    Args:
        headers_env: Header -> environment variable.
        auth: The Authorization header.
        value_of: Gives a variable's value; raises UserInputError where it is not set.

    Raises:
        UserInputError: A variable is missing, empty, or holds what no header can carry.
    """
    secrets = []
    headers = {}
    for name, variable in headers_env.items():
        value = _header_secret(variable, value_of)
        secrets.append(value)
        headers[name.lower()] = value
    if auth is not None:
        value = _header_secret(auth.env, value_of)
        secrets += [value, value.partition(":")[2]]
        token = value if auth.scheme == "bearer" else base64.b64encode(value.encode()).decode()
        headers["authorization"] = f"{auth.scheme.capitalize()} {token}"
    # A header may be echoed without its scheme.
    return headers, Redactor([*secrets, *(value.rpartition(" ")[2] for value in headers.values())])


def _header_secret(name: str, value_of: Callable[[str], str]) -> str:
    # Pasted secrets often end in a line end, and a missing one is often set but empty.
    value = value_of(name).strip()
    if not _HEADER_VALUE.fullmatch(value):
        what = "is empty" if not value else "holds characters that no header can carry"
        raise UserInputError(f"target http: the environment variable {name} {what}", mend=f"set {name} anew")
    return value
