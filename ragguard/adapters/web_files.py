"""Files on the web: read over https, with every redirect and every peer looked at before a byte is taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from ragguard.adapters.addresses import NEAREST, Access, check_peer, check_web_address, nearness, redacted
from ragguard.core.text import one_line
from ragguard.errors import ObjectError, ObjectNotFoundError

if TYPE_CHECKING:
    import httpx

_CHUNK_BYTES = 256 * 1024
_MAX_REDIRECTS = 5
_FIRST_WAIT_S = 0.5
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class _PassingError(Exception):
    """A failure that may pass."""


def web_chunks(url: str, access: Access) -> Iterator[bytes]:
    """Yields a web file's bytes as they were sent.

    Raises:
        ConfigError: The address, or one it redirects to, is refused.
        ObjectNotFoundError: There is no such file.
        ObjectError: It cannot be read.
    """
    import httpx

    timeout = httpx.Timeout(access.read_timeout_s, connect=access.connect_timeout_s)
    # Packed bytes stay packed: unpacking is bounded elsewhere.
    with httpx.Client(timeout=timeout, headers={"Accept-Encoding": "identity"}) as client:
        try:
            response = _opened(client, url, access)
        except _PassingError as error:
            raise _failed(url, str(error)) from None
        try:
            yield from response.iter_raw(_CHUNK_BYTES)
        except httpx.HTTPError as error:
            raise _failed(url, _message(error)) from None
        finally:
            response.close()


def _opened(client: httpx.Client, url: str, access: Access) -> httpx.Response:
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

    attempts = Retrying(
        retry=retry_if_exception_type(_PassingError),
        stop=stop_after_attempt(1 + access.retries),
        wait=wait_random_exponential(multiplier=_FIRST_WAIT_S, max=10),
        reraise=True,
    )
    return attempts(follow, client, url, access)


def follow(client: httpx.Client, url: str, access: Access) -> httpx.Response:
    """Asks for a file, wherever redirects lead.

    Raises:
        ConfigError: The address, or one it redirects to, is refused.
        ObjectError: It cannot be read, or a redirect leads nearer than the server that gives it.
    """
    near = NEAREST
    for _ in range(_MAX_REDIRECTS + 1):
        response = _asked(client, url, access, near)
        if not response.is_redirect:
            return _accepted(response, url)
        near = min(near, nearness(_peer(response) or _host(url)))
        url = urljoin(url, response.headers["location"])
        response.close()
    raise ObjectError(f"{redacted(url)}: redirected more than {_MAX_REDIRECTS} times", mend="use the final address")


def _asked(client: httpx.Client, url: str, access: Access, near: int) -> httpx.Response:
    import httpx

    check_web_address(url, access)
    _check_nearness(url, _host(url), near)
    try:
        response = client.send(client.build_request("GET", url), stream=True)
    except httpx.TransportError as error:
        raise _PassingError(_message(error)) from None
    except (httpx.InvalidURL, httpx.HTTPError) as error:
        raise _failed(url, _message(error)) from None
    try:
        # What a name resolved to is known for certain only now.
        peer = _peer(response) or ""
        check_peer(url, peer, access)
        _check_nearness(url, peer, near)
    except BaseException:
        response.close()
        raise
    return response


def _peer(response: httpx.Response) -> str | None:
    """The address that answered, where it is known."""
    stream = response.extensions.get("network_stream")
    peer = stream.get_extra_info("server_addr") if stream is not None else None
    return str(peer[0]) if peer else None


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _check_nearness(url: str, address: str, near: int) -> None:
    """Makes sure that a server leads nobody into a network that it is not in itself.

    Raises:
        ObjectError: It would.
    """
    if nearness(address) > near:
        raise ObjectError(
            f"{redacted(url)}: a server further away redirects into this machine or its network",
            mend="name the final address, if it is the one that you mean",
        )


def _accepted(response: httpx.Response, url: str) -> httpx.Response:
    if response.is_success:
        return response
    response.close()
    status = f"{response.status_code} {response.reason_phrase}".strip()
    if response.status_code in _PASSING:
        raise _PassingError(status)
    if response.status_code in {404, 410}:
        raise ObjectNotFoundError(f"{redacted(url)}: no such file ({status})", mend="correct the address")
    if response.status_code in {401, 403}:
        raise ObjectError(
            f"{redacted(url)}: refused ({status})", mend="use an address that may be read, such as a signed one"
        )
    raise _failed(url, status)


def _failed(url: str, why: str) -> ObjectError:
    return ObjectError(
        f"{redacted(url)}: cannot read ({why})", mend="see whether it can be reached from here, then try again"
    )


def _message(error: Exception) -> str:
    return one_line(str(error))[:200] or type(error).__name__
