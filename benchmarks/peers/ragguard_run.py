"""Evaluates the samples with ragguard's `evaluate`, all settings but model and addresses at their defaults."""

from runner_common import Job, Scores, main

TRIAD = ["faithfulness", "context_relevance", "answer_relevance"]


def run(job: Job) -> Scores:
    """The triad, or the five metrics."""
    from ragguard import evaluate

    done = evaluate(
        job.samples,
        metrics=[*TRIAD, "context_precision", "context_recall"] if job.with_reference else TRIAD,
        judge={"model": "openai/judge", "api_base": job.url, "concurrency": job.concurrency},
        embedder={"model": "openai/embedder", "api_base": job.url},
    )
    return {result.id: {score.metric: score.score for score in result} for result in done.results}


main("ragguard", run)
