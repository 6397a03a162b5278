"""ragguard: a regression gate for retrieval-augmented generation.

The names of the Python interface are loaded when they are first used: importing ragguard costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AuditResult",
    "Comparison",
    "Evaluation",
    "Metric",
    "NotScoredError",
    "Passage",
    "RagguardError",
    "Reply",
    "Sample",
    "SampleRecord",
    "Score",
    "Task",
    "Tools",
    "__version__",
    "aevaluate",
    "audit",
    "compare",
    "evaluate",
]

if TYPE_CHECKING:
    from ragguard.core.audit import AuditResult, audit
    from ragguard.core.metrics.base import Metric
    from ragguard.core.ports import Tools
    from ragguard.core.samples import Answer, Passage
    from ragguard.core.samples import Sample as SampleRecord
    from ragguard.core.scores import Score
    from ragguard.core.tasks import Reply, Task
    from ragguard.errors import RagguardError
    from ragguard.sdk.comparing import Comparison, compare
    from ragguard.sdk.evaluating import aevaluate, evaluate
    from ragguard.sdk.evaluation import Evaluation
    from ragguard.sdk.results import NotScoredError
    from ragguard.sdk.sample import Sample
else:
    _WHERE = {
        "Answer": "core.samples",
        "AuditResult": "core.audit",
        "Comparison": "sdk.comparing",
        "Evaluation": "sdk.evaluation",
        "Metric": "core.metrics.base",
        "NotScoredError": "sdk.results",
        "Passage": "core.samples",
        "RagguardError": "errors",
        "Reply": "core.tasks",
        "Sample": "sdk.sample",
        "SampleRecord": "core.samples",
        "Score": "core.scores",
        "Task": "core.tasks",
        "Tools": "core.ports",
        "aevaluate": "sdk.evaluating",
        "audit": "core.audit",
        "compare": "sdk.comparing",
        "evaluate": "sdk.evaluating",
    }

    _NAMED = {"SampleRecord": "Sample"}

    def __getattr__(name):
        """Loads a name of the interface on first use."""
        if name not in _WHERE:
            raise AttributeError(f"module 'ragguard' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"ragguard.{_WHERE[name]}"), _NAMED.get(name, name))
        globals()[name] = value
        return value

    def __dir__():
        """The interface, loaded or not."""
        return sorted({*globals(), *__all__})
