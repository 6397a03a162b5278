"""Who gives verdicts: language models through LiteLLM, or offline heuristics."""
