"""The Spark session: the one that is there, else one that is started."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from ragguard.errors import ConfigError, OutsideWorldError

_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}


def open_session(master: str | None, conf: Mapping[str, str]) -> Any:
    """Returns the session that is active, as under spark-submit and in a notebook, else starts one.

    Args:
        master: Where to start one; None: as spark-submit or Spark's own settings say.
        conf: Spark's settings.

    Raises:
        ConfigError: PySpark is not installed.
        OutsideWorldError: Spark does not start, mostly for want of Java.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise spark_missing() from None
    is_local = master is not None and master.startswith("local")
    if is_local:
        # Else workers take the first python3 of the PATH, whatever is installed there.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName("ragguard")
    if master is not None:
        builder = builder.master(master)
    for name, value in {**(_QUIET if is_local else {}), **conf}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise OutsideWorldError(
            f"Spark does not start: {first_line(error)}",
            mend="install Java 17 (JAVA_HOME), and correct executor.master and executor.conf",
        ) from error


def parallelism(session: Any) -> int:
    """How many tasks the session runs at once, as far as it tells."""
    try:
        return max(1, int(session.sparkContext.defaultParallelism))
    except Exception:  # noqa: BLE001 - a remote session (Spark Connect) has no context
        return 8


def spark_missing() -> ConfigError:
    """The error of a Spark executor without PySpark."""
    return ConfigError("executor.type is spark, but PySpark is not installed", mend="pip install 'ragguard[spark]'")


def first_line(error: BaseException) -> str:
    """What Spark says, without the traces of both languages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
