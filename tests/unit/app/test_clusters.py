"""What makes samples dependent, by `gate.cluster_by`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ragguard.app.ledger import asked_samples
from ragguard.core.policy import GatePolicy
from ragguard.core.samples import Sample, Turn

FIRST = Turn(role="user", content="Học phí là bao nhiêu?")
SAMPLES = [
    Sample(id="a", question=FIRST.content, tags=("vi", "doc-1")),
    Sample(id="b", question="Còn lệ phí?", history=(FIRST,), tags=("doc-1",)),
    Sample(id="c", question="学费是多少？"),
]


@pytest.mark.parametrize(
    ("cluster_by", "together"),
    [("none", {"a": None, "b": None, "c": None}), ("tag:doc-", {"a": "doc-1", "b": "doc-1", "c": "sample c"})],
)
def test_clusters(cluster_by: str, together: dict[str, str | None]) -> None:
    assert {id_: one.cluster for id_, one in asked_samples(SAMPLES, cluster_by).items()} == together


def test_the_turns_of_a_conversation_are_one_cluster() -> None:
    asked = asked_samples(SAMPLES, "conversation")
    assert asked["a"].cluster == asked["b"].cluster != asked["c"].cluster


@pytest.mark.parametrize("cluster_by", ["document", "tag:", ""])
def test_another_word_is_refused(cluster_by: str) -> None:
    with pytest.raises(ValidationError):
        GatePolicy(cluster_by=cluster_by)
