# mypy: ignore-errors
"""Evaluates the samples with deepeval's `evaluate` and an OpenAI model; its displays are off."""

from runner_common import Job, Scores, main, number


def run(job: Job) -> Scores:
    """The triad, or the five metrics."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig
    from deepeval.metrics import (
        AnswerRelevancyMetric,
        ContextualPrecisionMetric,
        ContextualRecallMetric,
        ContextualRelevancyMetric,
        FaithfulnessMetric,
    )
    from deepeval.models import OpenAIModel
    from deepeval.test_case import LLMTestCase

    kinds = [FaithfulnessMetric, ContextualRelevancyMetric, AnswerRelevancyMetric]
    if job.with_reference:
        kinds += [ContextualPrecisionMetric, ContextualRecallMetric]
    model = OpenAIModel(model="gpt-4o-mini", base_url=job.url, api_key="none")
    result = evaluate(
        [
            LLMTestCase(
                name=sample["id"],
                input=sample["user_input"],
                actual_output=sample["response"],
                expected_output=sample["reference"],
                retrieval_context=sample["retrieved_contexts"],
            )
            for sample in job.samples
        ],
        metrics=[kind(model=model) for kind in kinds],
        async_config=AsyncConfig(max_concurrent=job.concurrency),
        display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
        error_config=ErrorConfig(ignore_errors=not job.strict),
    )
    return {
        told.name: {data.name: None if data.error else number(data.score) for data in told.metrics_data or ()}
        for told in result.test_results
    }


main("deepeval", run)
