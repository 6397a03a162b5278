from typing import Any

from ragguard.adapters.renderers.changes import Change, Said, Shown, change_of
from ragguard.core.report import RegressedDetail
from ragguard.core.runs import RegressedSample
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.scores import SampleResult, Score
from tests.fakes.reports import make_report


def detail(before: dict[str, Any], after: dict[str, Any], *, stored: bool = True) -> RegressedDetail:
    entry = RegressedSample(id="s", metric="m", before=1.0, after=0.0, cause="retrieval", confirmed=True)
    return RegressedDetail(entry, result("old", before, stored=stored), result("new", after, stored=stored))


def result(name: str, details: dict[str, Any], *, stored: bool) -> SampleResult:
    passages = tuple(Passage(id=f"{name}#{rank}", text=f"{name} text {rank}", rank=rank) for rank in (1, 2))
    score = Score(metric="m", status="scored", value=0.0, reason=f"{name} reason", details=details)
    return SampleResult(
        id="s", sample_digest="s", passages_digest="p", scores=(score,),
        sample=Sample(id="s", question="q?") if stored else None,
        answer=Answer(text="a", contexts=passages) if stored else None,
    )  # fmt: skip


def claim(text: str, verdict: str, rank: int | None = None, key: str | None = None) -> dict[str, Any]:
    return {"claim": text, "verdict": verdict, "passage": {"id": key, "rank": rank} if rank else None}


def test_a_contradicted_claim_shows_the_passage_that_contradicts_it() -> None:
    found = change_of(
        detail(
            {"claims": [claim("tea is served at noon", "supported", 1), claim("the fee is 40", "supported", 2)]},
            {"claims": [claim("no one knows", "absent"), claim("the fee is 60", "contradicted", 2, "new#2")]},
        )
    )
    assert found == Change(
        "q?", Said("the fee is 40", "supported"), Said("the fee is 60", "contradicted"),
        Shown("new#2", "new text 2", "this run"),
    )  # fmt: skip


def test_an_absent_claim_shows_the_passage_that_supported_the_old_one() -> None:
    found = change_of(
        detail({"claims": [claim("the fee is 40", "supported", 1, "old#1")]}, {"claims": [claim("fee 60", "absent")]})
    )
    assert found.passage == Shown("old#1", "old text 1", "baseline")


def test_a_claim_without_anything_before_it() -> None:
    found = change_of(detail({}, {"claims": [claim("the fee is 60", "absent")]}))
    assert found.before == Said("old reason")
    assert found.passage is None


def test_the_passage_that_helped_most_and_is_gone() -> None:
    before = {"passages": [{"id": "a", "rank": 1, "relevant": [1]}, {"id": "b", "rank": 2, "relevant": [1, 2, 3]}]}
    after = {"passages": [{"id": "a", "rank": 1, "relevant": [1]}]}
    assert change_of(detail(before, after)) == Change(
        "q?", Said("old reason"), Said("new reason"), Shown("b", "old text 2", "baseline")
    )


def test_passages_judged_as_a_whole() -> None:
    for name in ("relevant", "helps"):
        before = {"passages": [{"id": "a", "rank": 1, name: True}]}
        after = {"passages": [{"id": "a", "rank": 1, name: False}]}
        assert change_of(detail(before, after)).passage == Shown("a", "old text 1", "baseline")
        assert change_of(detail(after, after)).passage is None


def test_other_metrics_speak_by_their_reason() -> None:
    assert change_of(detail({}, {"gold_ranks": []})) == Change("q?", Said("old reason"), Said("new reason"), None)


def test_details_of_another_shape_do_no_harm() -> None:
    for odd in ({"claims": 3}, {"claims": [1, {"claim": 2}]}, {"passages": "x"}, {"passages": [{"rank": "x"}]}):
        assert change_of(detail(odd, odd)).after == Said("new reason")


def test_texts_that_are_not_stored_are_none() -> None:
    found = change_of(detail({}, {"claims": [claim("the fee is 60", "contradicted", 2, "new#2")]}, stored=False))
    assert found.question is None
    assert found.passage == Shown("new#2", None, "this run")


def test_every_regressed_sample_of_a_report_can_be_told() -> None:
    changes = [change_of(found) for found in make_report("failed").regressed]
    assert [found.passage.side if found.passage else None for found in changes] == [
        "this run", "baseline", "this run", "this run",
    ]  # fmt: skip
