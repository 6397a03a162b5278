"""What can go wrong with a call: classified by status and words; waits read; keys left out."""

import pytest

from ragguard.adapters.judges.troubles import TroubleError, told, trouble_of


class ProviderError(Exception):
    """As LiteLLM raises them: a status, a message, the response's headers."""

    def __init__(self, status: int | None, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code, self.message, self.litellm_response_headers = status, message, headers


class Timeout(ProviderError):
    pass


class ContextWindowExceededError(ProviderError):
    pass


class ContentPolicyViolationError(ProviderError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError(401, "Incorrect API key"), "denied"),
        (ProviderError(403, "Country not supported"), "denied"),
        (ProviderError(500, "Missing credentials. Please pass an `api_key`"), "denied"),
        (ProviderError(404, "The model `x` does not exist"), "unknown_model"),
        (ProviderError(400, "LLM Provider NOT provided. Pass in the LLM provider"), "unknown_model"),
        (ProviderError(429, "Rate limit reached"), "rate_limited"),
        (ProviderError(429, "You exceeded your current quota, please check your plan"), "exhausted"),
        (ProviderError(400, "Your credit balance is too low to access the API"), "exhausted"),
        (ProviderError(402, "Payment required"), "exhausted"),
        (ProviderError(500, "The server had an error"), "overloaded"),
        (ProviderError(503, "no healthy upstream"), "overloaded"),
        (ProviderError(529, "Overloaded"), "overloaded"),
        (ProviderError(500, "InternalServerError: OpenAIException - Connection error."), "unreachable"),
        (ProviderError(500, "Cannot connect to host 127.0.0.1:9"), "unreachable"),
        (ProviderError(None, "something odd"), "unreachable"),
        (Timeout(408, "Request timed out."), "timeout"),
        (ProviderError(504, "upstream request timed out"), "timeout"),
        (ProviderError(400, "'temperature' does not support 0.0"), "rejected"),
        (ProviderError(422, "extra fields"), "rejected"),
        (ContextWindowExceededError(400, "too long"), "too_long"),
        (ProviderError(400, "maximum context length is 4096 tokens"), "too_long"),
        (ProviderError(413, "payload too large"), "too_long"),
        (ContentPolicyViolationError(400, "filtered"), "filtered"),
        (ProviderError(400, "The response was filtered due to the content management policy"), "filtered"),
        (ProviderError(400, "Your request was rejected as a result of our safety system."), "filtered"),
    ],
)
def test_kinds(error: Exception, kind: str) -> None:
    assert trouble_of(error).kind == kind


def test_headers_of_an_error_are_read_in_any_case() -> None:
    assert trouble_of(ProviderError(429, "slow", {"Retry-After": "12"})).retry_after_s == 12.0


@pytest.mark.parametrize(
    "secret",
    ["sk-proj-abcdef123456", "sk-wro****key", "Bearer abcdef.ghijkl", "api_key=abcdef123456", "token: 'abcdef123456'"],
)
def test_no_key_stands_in_a_message(secret: str) -> None:
    message = TroubleError("denied", f"Incorrect API key provided: {secret} at once").message
    assert message.startswith("Incorrect API key provided: ")
    assert "abcdef" not in message
    assert "wro" not in message
    assert message.endswith(" at once")


def test_messages_are_short_and_on_one_line() -> None:
    message = told("litellm.BadRequestError: OpenAIException - no\n::error::x\u2028" + "y" * 1000)
    assert message.startswith("no ::error::x")
    assert "\n" not in message
    assert len(message) == 300


def test_a_key_of_this_process_stands_in_no_message_whatever_its_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "8f2e77aa90bc41dd")
    assert told("Access denied for 8f2e77aa90bc41dd by policy") == "Access denied for *** by policy"
    assert "8f2e" not in told("x" * 290 + "8f2e77aa90bc41dd"), "a cut must not leave half of it"


def test_no_code_stands_in_a_message() -> None:
    raw = 'Invalid response object Traceback (most recent call last):\n  File "/opt/x.py", line 1, in f\n    g()'
    assert told(raw) == "Invalid response object"
    assert told("litellm.Timeout: APITimeoutError - Request timed out. Error_str: Request timed out. - x") == (
        "Request timed out."
    )
