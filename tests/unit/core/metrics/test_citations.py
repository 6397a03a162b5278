"""Citations: do they point to right passages, and do those support the lines that cite them."""

from __future__ import annotations

from typing import Any

import pytest

from ragguard.core.metrics.citations import cited_part
from ragguard.core.samples import Passage
from tests.fakes.judging import ScriptedJudge
from tests.unit.core.metrics.cases import answer, claims, flagged, metric, passages, result, sample, score

THREE = passages("Học phí 2 triệu đồng.", "八月开学。", "The library opens at 8.")


def accuracy(citations: list[str] | None, **fields: Any) -> Any:
    item = sample(**{"contexts": THREE, "gold_passage_ids": ["p1", "p9"], **fields})
    return score("citation_accuracy", item, answer(citations=citations), calls=0)


@pytest.mark.parametrize(
    ("citations", "expected"),
    [
        (["p1"], 1.0),
        (["p2"], 0.0),
        (["p1", "p2"], 0.5),
        (["p9"], 0.0),  # gold, but not retrieved
        (["nowhere"], 0.0),
        (["p1", "p1", "p2"], 2 / 3),
    ],
)
def test_accuracy_counts_citations_of_retrieved_gold_passages(citations: list[str], expected: float) -> None:
    assert accuracy(citations).value == pytest.approx(expected)


def test_accuracy_by_flags() -> None:
    assert accuracy(["p1", "p3"], gold_passage_ids=None, contexts=flagged(True, None, False)).value == 0.5


def test_citing_nothing_where_something_is_right_scores_0() -> None:
    assert (accuracy([]).value, accuracy([]).flags) == (0.0, ("no_citations",))


@pytest.mark.parametrize("fields", [{"answerable": False}, {"gold_passage_ids": []}])
def test_citing_nothing_where_nothing_is_right_is_not_applicable(fields: dict[str, Any]) -> None:
    assert accuracy([], **fields).status == "not_applicable"


def test_citing_where_nothing_is_right_scores_0() -> None:
    assert accuracy(["p1"], gold_passage_ids=[]).value == 0.0


def test_citations_not_told_are_not_applicable() -> None:
    assert accuracy(None).status == "not_applicable"
    assert accuracy(["p1"], contexts=None).status == "not_applicable"
    assert accuracy(["p1"], gold_passage_ids=None).status == "not_applicable"


def test_citations_of_passages_without_ids_cannot_be_matched() -> None:
    unnamed = [Passage(text="a", is_ground_truth=True)]
    assert accuracy(["p1"], contexts=unnamed).status == "not_applicable"
    assert accuracy(["p1"], contexts=unnamed, gold_passage_ids=None).status == "not_applicable"


def test_nothing_retrieved_makes_every_citation_wrong() -> None:
    assert accuracy(["p1"], contexts=[]).value == 0.0


def test_without_marks_every_line_cites_everything_cited() -> None:
    cited = cited_part(sample(contexts=THREE), answer("Một. Hai.", citations=["p3", "p1", "gone"]))
    assert cited.lines == ("Một.", "Hai.")
    assert [passage.id for passage in cited.passages] == ["p1", "p3"]
    assert cited.cites == ((1, 2), (1, 2))


@pytest.mark.parametrize(
    ("text", "lines", "cites", "shown"),
    [
        ("Fee is 2. [1] Opens at 8. [3]", ("Fee is 2. [1]", "Opens at 8. [3]"), ((1,), (2,)), ["p1", "p3"]),
        ("学费两百万。[p1] 八月开学。【p3】", ("学费两百万。[p1]", "八月开学。【p3】"), ((1,), (2,)), ["p1", "p3"]),
        ("Fee [p1, p3]. Hello there.", ("Fee [p1, p3].",), ((1, 2),), ["p1", "p3"]),
        ("Fee [gone]. Opens [p3].", ("Fee [gone].", "Opens [p3]."), ((), (1,)), ["p3"]),
        ("Fee [2].", ("Fee [2].",), ((1,),), ["p3"]),  # rank 2 is not cited, so [2] is the second citation
        ("Array a[7] is [p1].", ("Array a[7] is [p1].",), ((1,),), ["p1"]),
    ],
)
def test_marks_tell_what_a_line_cites(text: str, lines: Any, cites: Any, shown: list[str]) -> None:
    cited = cited_part(sample(contexts=THREE), answer(text, citations=["p1", "p3", "gone"]))
    assert cited.lines == lines
    assert cited.cites == cites
    assert [passage.id for passage in cited.passages] == shown


def test_support_is_the_share_of_supported_cited_claims() -> None:
    judge = ScriptedJudge({"citations": claims("supported", "absent")})
    given = answer("Fee is 2 [p1]. Opens at 9 [p3]. No citation here.", citations=["p1", "p3"])
    (found,) = result([metric("citation_support")], judge, sample(contexts=THREE), given).scores
    assert found.value == 0.5
    (task,) = judge.asked
    assert task.inputs["lines"] == ["Fee is 2 [p1].", "Opens at 9 [p3]."]
    assert task.inputs["passages"] == [["Học phí 2 triệu đồng."], ["The library opens at 8."]]


def test_support_without_citations_is_not_applicable() -> None:
    assert score("citation_support", sample(contexts=THREE), answer(citations=[]), calls=0).status == "not_applicable"
    assert score("citation_support", sample(contexts=THREE), answer("", citations=["p1"]), calls=0).value is None
    assert score("citation_support", sample(contexts=THREE), answer(), calls=0).status == "not_applicable"


def test_support_by_something_not_retrieved_is_0_without_a_call() -> None:
    found = score("citation_support", sample(contexts=THREE), answer(citations=["gone"]), calls=0)
    assert (found.value, found.flags) == (0.0, ("not_retrieved",))


def test_support_of_lines_that_claim_nothing_is_1_and_flagged() -> None:
    script = {"citations": {"claims": [], "no_claim": [1, 2]}}
    found = score("citation_support", sample(contexts=THREE), answer(citations=["p1"]), script)
    assert (found.value, found.flags) == (1.0, ("no_claims",))


def test_the_score_key_knows_citations_that_no_judge_sees() -> None:
    one = score("citation_support", sample(contexts=THREE), answer(citations=["gone"]))
    other = score("citation_support", sample(contexts=THREE), answer(citations=[]))
    assert one.score_key != other.score_key
