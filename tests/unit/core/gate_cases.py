"""Evidence for the tests of the gate, written down shortly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragguard.core.decisions import Decision, LookRequest
from ragguard.core.evidence import Fresh, MetricEvidence, to_array, to_table
from ragguard.core.gate import step
from ragguard.core.policy import GatePolicy

VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("gate_vectors.json").read_text("utf-8"))["vectors"]


def vector(name: str) -> dict[str, Any]:
    return next(found for found in VECTORS if found["name"] == name)


def evidence(
    baseline: Sequence[float | Sequence[float | None] | None],
    candidate: Sequence[float | None],
    *,
    metric: str = "faithfulness",
    n_failed: int | None = None,
    n_baseline_ids: int | None = None,
    n_selected: int | None = None,
    **more: Any,
) -> MetricEvidence:
    """Pairs s000, s001, ...; a scalar baseline is the one stored run."""
    rows = [row if isinstance(row, (list, tuple)) else [row] for row in baseline]
    scored = [score for score in candidate if score is not None]
    return MetricEvidence(
        metric=metric,
        ids=tuple(f"s{index:03}" for index in range(len(candidate))),
        candidate=to_array(candidate),
        baseline=to_table(rows),
        candidate_values=to_array(scored),
        n_failed=len(candidate) - len(scored) if n_failed is None else n_failed,
        n_selected=len(candidate) if n_selected is None else n_selected,
        n_baseline_ids=len(candidate) if n_baseline_ids is None else n_baseline_ids,
        **more,
    )


def from_vector(case: Mapping[str, Any], look: int, metric: str = "faithfulness") -> MetricEvidence:
    n = len(case["cand"])
    ids = [f"s{index:03}" for index in range(n)]
    clusters = (
        tuple(f"document {index // case['cluster_size']}" for index in range(n)) if "cluster_size" in case else None
    )
    return evidence(
        case["base"],
        case["cand"],
        metric=metric,
        look=look,
        clusters=clusters,
        fresh_candidate={
            id_: tuple(scores) for id_, scores in zip(ids, case.get("now_cand", []), strict=False) if scores is not None
        },
        fresh_baseline={
            id_: tuple(map(tuple, anchors))
            for id_, anchors in zip(ids, case.get("now_base", []), strict=False)
            if anchors is not None
        },
    )


def policy_of(case: Mapping[str, Any], **more: Any) -> GatePolicy:
    return GatePolicy(looks=case["looks"], alpha=case["alpha"], regression_tolerance=case["tol"], **more)


def repeat_looks(
    start: Mapping[str, MetricEvidence], policy: GatePolicy, lost: Sequence[str] = ()
) -> tuple[Decision, Mapping[str, MetricEvidence], list[LookRequest]]:
    """Runs the gate to its end with a judge that repeats its first verdicts, but for the samples that it loses."""
    found, requests = dict(start), []
    while isinstance(answer := step(found, policy), LookRequest):
        requests.append(answer)
        for metric, plan in answer.metrics.items():
            found[metric] = _judge_again(found[metric], plan.ids, plan.anchors, plan.anchor_repeats, lost)
    return answer, found, requests


def _judge_again(
    before: MetricEvidence, ids: Sequence[str], anchors: int, repeats: int, lost: Sequence[str]
) -> MetricEvidence:
    rows = {id_: row for row, id_ in enumerate(before.ids)}
    candidate: dict[str, Fresh] = {}
    baseline: dict[str, tuple[Fresh, ...]] = {}
    for id_ in ids:
        candidate[id_] = (None if id_ in lost else float(before.candidate[rows[id_]]),) * 2
        baseline[id_] = tuple((float(score),) * repeats for score in before.baseline[rows[id_]][:anchors])
    return before.looked_again(candidate, baseline)
