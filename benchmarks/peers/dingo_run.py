# mypy: ignore-errors
"""Evaluates the samples with dingo's local executor, its workers raised from one to the concurrency asked for."""

import json
from pathlib import Path

from runner_common import Job, Scores, main, number

TRIAD = ("LLMRAGFaithfulness", "LLMRAGContextRelevancy", "LLMRAGAnswerRelevancy")
WITH_REFERENCE = (*TRIAD, "LLMRAGContextPrecision", "LLMRAGContextRecall")


def run(job: Job) -> Scores:
    """The triad, or the five metrics; scores are read from the file that dingo writes."""
    from dingo.config import InputArgs
    from dingo.exec import Executor

    data = Path(job.folder) / "samples.jsonl"
    rows = [{**sample, "raw": {"expected_output": sample["reference"]}} for sample in job.samples]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge = {"model": "judge", "key": "none", "api_url": job.url}
    judge["embedding_config"] = {"model": "embedder", "key": "none", "api_url": job.url}
    names = WITH_REFERENCE if job.with_reference else TRIAD
    fields = {"prompt": "user_input", "content": "response", "context": "retrieved_contexts", "raw_data": "raw"}
    arguments = InputArgs(
        input_path=str(data),
        output_path=job.folder,
        dataset={"source": "local", "format": "jsonl"},
        executor={
            "max_workers": job.concurrency,
            "batch_size": job.concurrency,
            "result_save": {"merge": True, "all_labels": True, "raw": True},
        },
        evaluator=[{"fields": fields, "evals": [{"name": name, "config": judge} for name in names]}],
    )
    summary = Executor.exec_map["local"](arguments).execute()
    lines = (Path(summary.output_path) / "all_results.jsonl").read_text(encoding="utf-8").splitlines()
    return dict(_scores(json.loads(line)) for line in lines)


def _scores(row: dict) -> tuple[str, dict[str, float | None]]:
    """A judge's or parser's error leaves a detail without a score."""
    details = [detail for group in row["dingo_result"]["eval_details"].values() for detail in group]
    return row["id"], {detail["metric"]: number(detail.get("score")) for detail in details}


if __name__ == "__main__":  # dingo starts processes of its own
    main("dingo-python", run)
