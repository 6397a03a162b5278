"""What a model takes is learnt from its refusals, once."""

import pytest

from ragguard.adapters.judges.manners import Form, Manners

SCHEMA = {"type": "object"}


def sent(manners: Manners, **params: object) -> dict[str, object]:
    return manners.offer.arguments(params, 100, "claims", SCHEMA)


def test_offers_the_schema_first() -> None:
    assert sent(Manners("schema"), temperature=0.0) == {
        "temperature": 0.0,
        "max_tokens": 100,
        "response_format": {"type": "json_schema", "json_schema": {"name": "claims", "strict": True, "schema": SCHEMA}},
    }


@pytest.mark.parametrize(("form", "expected"), [("object", {"type": "json_object"}), ("plain", None)])
def test_offers_less_where_less_is_known_to_work(form: Form, expected: object) -> None:
    assert sent(Manners(form)).get("response_format") == expected


def test_a_parameter_of_null_is_left_to_the_provider() -> None:
    assert "temperature" not in sent(Manners("plain"), temperature=None)


@pytest.mark.parametrize(
    "message",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "json_schema is not available",
        "Failed to compile the grammar",
        "bad request",  # many servers do not say
    ],
)
def test_gives_way_from_schema_to_object_to_words(message: str) -> None:
    manners = Manners("schema")
    assert manners.give_way(manners.offer, message)
    assert manners.offer.form == "object"
    assert manners.give_way(manners.offer, message)
    assert manners.offer.form == "plain"
    assert not manners.give_way(manners.offer, message)
    assert len(manners.notes) == 2


@pytest.mark.parametrize("name", ["temperature", "seed", "top_p"])
def test_drops_a_parameter_once_and_says_so(name: str) -> None:
    manners = Manners("schema")
    assert manners.give_way(manners.offer, f"Unsupported value: '{name}' does not support this value")
    assert name not in sent(manners, **{name: 1})
    assert manners.offer.form == "schema"
    assert manners.notes == [name]


def test_sends_the_limit_under_its_other_name_where_asked() -> None:
    manners = Manners("plain")
    assert manners.give_way(manners.offer, "Unsupported: 'max_tokens'. Use 'max_completion_tokens' instead.")
    assert sent(manners) == {"max_completion_tokens": 100}


def test_calls_that_were_out_meanwhile_change_nothing_more() -> None:
    manners = Manners("schema")
    before = manners.offer
    assert manners.give_way(before, "response_format")
    assert manners.give_way(before, "response_format")
    assert manners.offer.form == "object"
    assert len(manners.notes) == 1


def test_what_has_worked_is_not_dropped_for_an_unclear_refusal() -> None:
    manners = Manners("schema")
    manners.worked(manners.offer)
    assert not manners.give_way(manners.offer, "bad request")
    assert manners.offer.form == "schema"
