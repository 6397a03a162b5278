"""Compares ragguard with peers on one local judge server and prints a Markdown table with ratios.

    python benchmarks/peers                              # 180 samples, all tools, all faults: about half an hour
    python benchmarks/peers --samples 10 --only ragguard,dingo --faults broken
    python benchmarks/peers --data FOLDER                # the rows of FOLDER/fiqa.jsonl instead of made ones

Each peer is installed by name into an environment of its own under RAGGUARD_BENCH_DIR (~/.cache/ragguard-bench); delete
that folder for newer versions. Wall and CPU times need an idle machine; the load is printed with the table.
"""

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from peer_environments import TOOLS, NotReadyError, Ready, ready
from peer_runs import Measured, measure
from peer_samples import Sample, given_samples, made_samples
from peer_table import FAULT_NAMES, FIVE, TRIAD, Findings, costs, faults, overhead

_FEW = 2
"""Samples of the run that tells what starting costs."""


def find(found: Findings, samples: Sequence[Sample], wanted: Sequence[str], works: Sequence[int]) -> None:
    """All runs of one tool, into its findings."""
    name = found.name
    tool = next(tool for tool in TOOLS if tool.name == name)
    try:
        usable = ready(tool)
    except NotReadyError as error:
        found.problem = str(error)
        say(f"{name}: {error}")
        return
    found.note = usable.note
    say(f"{name}: a run that does not count, so that its files are compiled and in memory")
    told(usable, samples[:_FEW], TRIAD, "none")
    for metrics in works:
        found.works[metrics] = told(usable, samples, metrics, "none")
    if TRIAD in works and len(samples) > _FEW:
        found.small = told(usable, samples[:_FEW], TRIAD, "none")
    for fault in wanted:
        if name == "deepeval":
            found.strict[fault] = told(usable, samples, TRIAD, fault, strict=True)
        found.faults[fault] = told(usable, samples, TRIAD, fault)


def told(usable: Ready, samples: Sequence[Sample], metrics: int, fault: str, *, strict: bool = False) -> Measured:
    """One run, with a line about it."""
    load = os.getloadavg()[0]
    run = measure(usable, samples, fault=fault, with_reference=metrics == FIVE, strict=strict)
    say(
        f"{usable.tool.name} {run.version}, {metrics} metrics, faults: {fault}{', strict' if strict else ''}: "
        f"{run.wall_s:.1f} s, CPU {run.cpu_s:.1f} s, {run.peak_mb:.0f} MB, {run.calls} calls, "
        f"{run.embedding_calls} for embeddings, {run.prompt_tokens} tokens, "
        f"without a score {run.unscored(samples, metrics)}, load before {load:.1f}"
    )
    if run.error:
        say(f"  {run.error}")
    return run


def say(line: str) -> None:
    """Progress goes to standard error, so that standard output is the table alone."""
    print(line, file=sys.stderr, flush=True)


def table(found: Sequence[Findings], samples: Sequence[Sample], works: Sequence[int], loads: Sequence[float]) -> str:
    """The whole result."""
    passages = len(samples[0]["retrieved_contexts"])
    python = platform.python_version()
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}: {len(samples)} samples of {passages} passage{'s' * (passages > 1)}.",
        f"{os.cpu_count()} cores, Python {python}, {platform.system()} {platform.machine()};",
        f"load average {min(loads):.1f} to {max(loads):.1f}, the benchmark's own included.",
    ]
    titles = {TRIAD: "Triad: faithfulness, context relevance, answer relevance"}
    titles[FIVE] = "Five metrics: the triad, context precision, context recall"
    for metrics in works:
        lines += ["", f"### {titles[metrics]}", "", *costs(found, metrics, samples)]
    if any(one.small for one in found):
        lines += ["", "### CPU of the tool itself, triad", "", *overhead(found)]
    if any(one.faults for one in found):
        lines += ["", "### Faults of the judge, triad", "", *faults(found, samples)]
    notes = [f"- {one.name}: {one.note}." for one in found if one.note]
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=180)
    parser.add_argument("--passages", type=int, default=1, help="how many passages the made context is split into")
    parser.add_argument("--data", type=Path, help="a folder with fiqa.jsonl")
    parser.add_argument("--only", default=",".join(tool.name for tool in TOOLS))
    parser.add_argument("--faults", default=",".join(FAULT_NAMES), help="empty for none")
    parser.add_argument("--metrics", default=f"{TRIAD},{FIVE}", help="3, 5 or both")
    arguments = parser.parse_args()
    if arguments.data:
        samples = given_samples(arguments.data, arguments.samples)
    else:
        samples = made_samples(arguments.samples, arguments.passages)
    wanted = [fault for fault in arguments.faults.split(",") if fault]
    works = [int(metrics) for metrics in arguments.metrics.split(",")]
    loads = [os.getloadavg()[0]]
    found = [Findings(name) for name in arguments.only.split(",")]
    try:
        for one in found:
            find(one, samples, wanted, works)
            loads.append(os.getloadavg()[0])
    except KeyboardInterrupt:
        say("interrupted: the table holds what has been run")
    print(table(found, samples, works, loads))


if __name__ == "__main__":
    main()
