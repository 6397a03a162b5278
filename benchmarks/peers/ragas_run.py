# mypy: ignore-errors
"""Evaluates the samples with ragas' `evaluate` and an OpenAI model behind LangChain."""

import warnings

from runner_common import Job, Scores, by_sample, main


def run(job: Job) -> Scores:
    """The triad, or the five metrics."""
    warnings.simplefilter("ignore")
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from ragas import EvaluationDataset, RunConfig, evaluate
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import (
        ContextRelevance,
        Faithfulness,
        LLMContextPrecisionWithReference,
        LLMContextRecall,
        ResponseRelevancy,
    )

    metrics = [Faithfulness(), ContextRelevance(), ResponseRelevancy()]
    if job.with_reference:
        metrics += [LLMContextPrecisionWithReference(), LLMContextRecall()]
    fields = ("user_input", "response", "reference", "retrieved_contexts")
    result = evaluate(
        EvaluationDataset.from_list([{field: sample[field] for field in fields} for sample in job.samples]),
        metrics=metrics,
        llm=LangchainLLMWrapper(ChatOpenAI(model="gpt-4o-mini", base_url=job.url, api_key="none")),
        embeddings=LangchainEmbeddingsWrapper(
            # Counting tokens would fetch a vocabulary from the network.
            OpenAIEmbeddings(base_url=job.url, api_key="none", check_embedding_ctx_length=False)
        ),
        run_config=RunConfig(max_workers=job.concurrency),
        show_progress=False,
    )
    return by_sample(job, result.scores)


main("ragas", run)
