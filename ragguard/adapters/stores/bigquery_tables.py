"""The four tables of the BigQuery store and their columns, told to whoever reads them with SQL.

Columns are only ever added, as NULLABLE or REPEATED; what a column means never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["REQUIRED", "NULLABLE", "REPEATED"]


@dataclass(frozen=True)
class Column:
    """One column; only those of the first version may be REQUIRED, since later ones are added to older rows."""

    name: str
    type: str
    description: str
    mode: Mode = "NULLABLE"
    fields: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Shape:
    """One table.

    Attributes:
        suffix: What is put behind the configured name.
        day: The column by whose day the table is partitioned.
    """

    suffix: str
    description: str
    columns: tuple[Column, ...]
    day: str
    clustering: tuple[str, ...]

    @property
    def required(self) -> frozenset[str]:
        """Names of the columns without which a table is not ours."""
        return frozenset(column.name for column in self.columns if column.mode == "REQUIRED")


_OF_RUN = (
    Column("run_id", "STRING", "Id of the run", "REQUIRED"),
    Column("load_id", "STRING", "Digest of the run's results: joins a run with the rows that belong to it", "REQUIRED"),
    Column("ordering_time", "TIMESTAMP", "Time of the commit; of the run where that is unknown", "REQUIRED"),
    Column("suite", "STRING", "The suite's name", "REQUIRED"),
    Column("branch", "STRING", "Branch"),
)
_OF_RESULT = (
    Column("sample_id", "STRING", "Id of the golden sample", "REQUIRED"),
    Column("side", "STRING", "candidate, or id of the baseline run whose answer was judged again", "REQUIRED"),
    Column("session", "STRING", "Session of a further look; null for look 1"),
    Column("repeat", "INTEGER", "Repeat of the judgments; 0 in look 1"),
)
_METRIC = (
    Column("metric", "STRING", "Id of the metric"),
    Column("unit", "STRING", "fraction, s or usd"),
    Column("direction", "STRING", "Which direction is better: higher or lower"),
    Column("aggregate", "STRING", "mean, p50 or p95"),
    Column("mean", "FLOAT", "Value over the whole run; null where unknown"),
    Column("baseline_mean", "FLOAT", "The baseline's value over the pairs"),
    Column("delta", "FLOAT", "Candidate minus baseline over the pairs, at the last look"),
    Column("ci_low", "FLOAT", "Lower end of the confidence interval of delta"),
    Column("ci_high", "FLOAT", "Upper end of the confidence interval of delta"),
    Column("p_value", "FLOAT", "One-sided p-value of a drop beyond the tolerance"),
    Column("mdd", "FLOAT", "Minimal detectable drop"),
    Column("slo_min", "FLOAT", "Configured floor of the mean"),
    Column("n_scored", "INTEGER", "Samples with a value"),
    Column("n_failed", "INTEGER", "Samples that could not be scored"),
    Column("n_not_applicable", "INTEGER", "Samples that the metric does not apply to"),
    Column("n_pairs", "INTEGER", "Samples compared with the baseline"),
    Column("outcome", "STRING", "The gate's outcome for the metric"),
)

RUNS = Shape(
    "",
    "ragguard: one row for each complete run",
    (
        *_OF_RUN,
        Column("n_results", "INTEGER", "How many results belong to the run", "REQUIRED"),
        Column("event", "STRING", "What started the run: local, push, pull_request, schedule, ..."),
        Column("repository", "STRING", "owner/name"),
        Column("commit", "STRING", "Commit under test"),
        Column("base_commit", "STRING", "Commit that it is merged into"),
        Column("commit_time", "TIMESTAMP", "Time of the commit"),
        Column("attempt", "INTEGER", "Attempt of the CI run"),
        Column("created_at", "TIMESTAMP", "When the run was made", "REQUIRED"),
        Column("outcome", "STRING", "error, failed, not_comparable, inconclusive, warned or passed"),
        Column("reasons", "STRING", "Why the outcome is what it is, the worst first", "REPEATED"),
        Column("coverage", "FLOAT", "Share of the wanted scores that there are, in [0, 1]"),
        Column("dataset_uri", "STRING", "Where the golden samples came from"),
        Column("dataset_digest", "STRING", "Digest of the golden samples"),
        Column("n_samples", "INTEGER", "Golden samples taken"),
        Column("answers_digest", "STRING", "Digest of the answers"),
        Column("judge_models", "STRING", "Models of the judge", "REPEATED"),
        Column("baseline_run_ids", "STRING", "Runs that this one was compared with", "REPEATED"),
        Column("metrics", "RECORD", "Each metric over the whole run", "REPEATED", _METRIC),
        Column("calls", "INTEGER", "Judge calls sent"),
        Column("tokens", "INTEGER", "Tokens of the judge calls; null where unknown"),
        Column("cost_usd", "FLOAT", "US dollars of the judge calls; null where unknown"),
        Column("schema_version", "INTEGER", "Version of the record in head"),
        Column("head", "STRING", "The whole run.json as JSON text; read it with JSON_VALUE and JSON_QUERY", "REQUIRED"),
    ),
    "ordering_time",
    ("suite", "branch"),
)
SAMPLES = Shape(
    "_samples",
    "ragguard: one row for each result of a run; complete runs are those in the table of runs (run_id, load_id)",
    (
        *_OF_RUN,
        *_OF_RESULT,
        Column("position", "INTEGER", "Place in the run, from 0", "REQUIRED"),
        Column("record", "STRING", "The whole result as JSON text; read it with JSON_VALUE and JSON_QUERY", "REQUIRED"),
    ),
    "ordering_time",
    ("run_id", "load_id"),
)
SCORES = Shape(
    "_scores",
    "ragguard: run x sample x metric; complete runs are those in the table of runs (run_id, load_id)",
    (
        *_OF_RUN,
        *_OF_RESULT,
        Column("tags", "STRING", "The sample's tags", "REPEATED"),
        Column("metric", "STRING", "Id of the metric", "REQUIRED"),
        Column("status", "STRING", "scored, not_applicable or failed"),
        Column("value", "FLOAT", "Fraction in [0, 1], seconds or US dollars; null unless scored"),
        Column("passed", "BOOLEAN", "Whether the value reaches the metric's threshold; null unless scored"),
        Column("label", "STRING", "<metric>.pass, .fail, .not_applicable or .failed"),
        Column("reason", "STRING", "Why there is no value"),
        Column("flags", "STRING", "What a reader should know of the value", "REPEATED"),
        Column("score_key", "STRING", "Digest of all that decides the value"),
    ),
    "ordering_time",
    ("suite", "branch", "metric", "run_id"),
)
EVENTS = Shape(
    "_events",
    "ragguard: who accepted, rejected, pinned or unpinned which run",
    (
        Column("run_id", "STRING", "Id of the run", "REQUIRED"),
        Column("suite", "STRING", "The suite's name", "REQUIRED"),
        Column("kind", "STRING", "accepted, rejected, pinned or unpinned", "REQUIRED"),
        Column("decided_by", "STRING", "Who", "REQUIRED"),
        Column("decided_at", "TIMESTAMP", "When", "REQUIRED"),
    ),
    "decided_at",
    ("suite",),
)
SHAPES = (RUNS, SAMPLES, SCORES, EVENTS)
