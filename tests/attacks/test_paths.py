"""Links and paths that lead elsewhere, in a checkout, a store, a saved run and a template."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ragguard.adapters.run_folder import write_run
from ragguard.adapters.runfiles import read_run
from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.entrypoints.cli import run_cli
from ragguard.errors import ConfigError
from tests.attacks.attack import Attacks
from tests.fakes.action_runner import Runner
from tests.fakes.small_runs import CONFIG, SmallRuns
from tests.parts.github_code import GitHubWithCode

ATTACKS = Attacks("paths and links")
STRICT = CONFIG.replace("{regression_tolerance: 0.02}", "{regression_tolerance: 0.02, faithfulness_min: 0.99}")
LOOSE = CONFIG.replace("{regression_tolerance: 0.02}", "{regression_tolerance: 1}")
SECRET = "canary-of-a-file-outside"


@pytest.fixture
def change(runner: Runner, github: GitHubWithCode) -> Runner:
    """The checkout of a change that is worse, whose base has a strict policy, and a loose one elsewhere."""
    github.code.files["main"] = {
        "ragguard.yaml": STRICT.encode(),
        "examples/loose.yaml": LOOSE.encode(),
        "apps/other/ragguard.yaml": LOOSE.encode(),
    }
    while github.add_pull_request() < 12:
        pass
    runner.configure(STRICT)
    for name in ("examples", "apps/other"):
        (runner.workspace / name).mkdir(parents=True)
    (runner.workspace / "examples/loose.yaml").write_text(LOOSE, encoding="utf-8")
    (runner.workspace / "apps/other/ragguard.yaml").write_text(LOOSE, encoding="utf-8")
    runner.answer(wrong=8)
    return runner


def judged(runner: Runner, **inputs: str) -> int:
    """The exit code of the change's step."""
    return runner.step("pull_request_same_repository", **inputs).exit_code


@ATTACKS.tried(
    "ragguard.yaml replaced by a link to a looser config that the base has too, or to one outside",
    "branch fork",
    "the loose policy decides",
    "what is read of the base is chosen by the name alone, not by the checkout's links",
)
@pytest.mark.parametrize("outside", [False, True])
def test_a_link_does_not_choose_the_policy(change: Runner, outside: bool) -> None:
    loose = change.workspace / "examples/loose.yaml"
    if outside:
        loose = loose.rename(change.files / "loose.yaml")
    (change.workspace / "ragguard.yaml").unlink()
    (change.workspace / "ragguard.yaml").symlink_to(loose)
    assert judged(change) == 1


@ATTACKS.tried(
    "the working directory replaced by a link to another suite's folder",
    "branch fork",
    "the other suite's policy decides",
    "the folder's name counts on the base, not where the link leads",
)
def test_a_linked_folder_does_not_choose_the_policy(change: Runner, github: GitHubWithCode) -> None:
    github.code.files["main"]["apps/tutor/ragguard.yaml"] = STRICT.encode()
    for name in ("golden.jsonl", "answers.jsonl"):
        shutil.copy(change.workspace / name, change.workspace / "apps/other" / name)
    (change.workspace / "apps/tutor").symlink_to(change.workspace / "apps/other")
    with pytest.raises(ConfigError, match="is a link"):
        judged(change, working_directory="apps/tutor")
    (change.workspace / "apps/tutor").unlink()
    (change.workspace / "apps/other").rename(change.workspace / "apps/tutor")
    assert judged(change, working_directory="apps/tutor") == 1


@ATTACKS.tried(
    "the folder of the judge's prompts replaced by a link",
    "branch",
    "prompts of the change's own",
    "templates are read of the base by name, into a folder of their own",
)
def test_a_linked_folder_of_prompts_is_not_used(change: Runner, github: GitHubWithCode) -> None:
    text = STRICT + "templates: prompts\n"
    github.code.files["main"] |= {"ragguard.yaml": text.encode(), "prompts/comment.md.j2": b"of the base"}
    change.configure(text)
    own = change.files / "own"
    own.mkdir()
    (own / "comment.md.j2").write_text("All is well.", encoding="utf-8")
    (change.workspace / "prompts").symlink_to(own)
    assert judged(change) == 1
    (comment,) = github.repositories["acme/tutor"].comments
    assert comment["body"].split("\n")[1] == "of the base"


@ATTACKS.tried(
    "links where reports, runs or verdicts are written: folders, files, drafts, a database's side files",
    "branch",
    "files outside of the checkout are overwritten by root",
    "a change's checkout may hold no link where ragguard writes; files are replaced, never written through",
)
@pytest.mark.parametrize(
    "name",
    [
        ".ragguard",
        ".ragguard/out",
        ".ragguard/out/.samples.jsonl.part",
        ".ragguard/out/report.md",
        ".ragguard/runs",
        ".ragguard/runs/index",
        ".ragguard/cache.sqlite",
        ".ragguard/cache.sqlite-wal",
    ],
)
def test_nothing_is_written_through_a_link(change: Runner, name: str) -> None:
    victim = change.files / "victim"
    if "." in name.rpartition("/")[2][1:]:
        victim.write_text("as it was", encoding="utf-8")
    else:
        victim.mkdir()
    link = change.workspace / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(victim)
    with pytest.raises(ConfigError, match="is a link"):
        judged(change)
    assert not victim.is_dir() or not list(victim.iterdir())
    assert victim.is_dir() or victim.read_text(encoding="utf-8") == "as it was"


def test_a_draft_is_never_written_through_a_link(tmp_path: Path) -> None:
    runs = SmallRuns(tmp_path, n=3)
    victim = tmp_path / "victim"
    victim.write_text("as it was", encoding="utf-8")
    out = tmp_path / "out" / "run-1"
    out.mkdir(parents=True)
    for name in (".samples.jsonl.part", "samples.jsonl", "run.json", "report.md", "report.json"):
        (out / name).symlink_to(victim)
    runs.run()
    assert victim.read_text(encoding="utf-8") == "as it was"
    assert (out / "report.md").read_text(encoding="utf-8").startswith("# ")


@ATTACKS.tried(
    "the data set or the answers as a link to a file outside, such as /proc/self/environ",
    "branch fork",
    "its content in error messages and reports",
    "a change's data must lie in its checkout; a stranger's answers may be no link at all",
)
@pytest.mark.parametrize("name", ["golden.jsonl", "answers.jsonl"])
def test_data_outside_of_the_checkout_is_not_read(change: Runner, name: str) -> None:
    secret = change.files / "secret"
    secret.write_text(f'{{"id": "{SECRET}"}}', encoding="utf-8")
    (change.workspace / name).unlink()
    (change.workspace / name).symlink_to(secret)
    with pytest.raises(ConfigError, match="out of the checkout") as told:
        judged(change)
    assert SECRET not in str(told.value)


@ATTACKS.tried(
    "a run.json whose samples lie at `../…` or at an absolute path",
    "fork store",
    "`report`, `compare` and `merge` read files of the attacker's choice",
    "a name with a slash is refused; what is read must have the digest that the head tells",
)
@pytest.mark.parametrize("path", ["../secret.jsonl", "/etc/passwd", "a/../../secret.jsonl", "..", "a\\b", "x?y"])
def test_a_saved_run_reads_only_what_lies_beside_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], path: str
) -> None:
    runs = SmallRuns(tmp_path, n=3)
    runs.run()
    saved = runs.output("run-1") / "run.json"
    head = json.loads(saved.read_bytes())
    head["samples"]["path"] = path
    saved.write_text(json.dumps(head), encoding="utf-8")
    (saved.parent.parent / "secret.jsonl").write_text(SECRET, encoding="utf-8")
    (tmp_path / "ragguard.yaml").write_text(CONFIG, encoding="utf-8")
    config = ["--config", str(tmp_path / "ragguard.yaml")]
    for arguments in (
        ["report", str(saved), "--format", "csv"],
        ["compare", str(saved), str(saved)],
        ["merge", str(saved), *config],
    ):
        assert run_cli(arguments) == 2
        printed = "".join(capfd.readouterr())
        assert "names a samples file elsewhere" in printed or "shard" in printed
        assert SECRET not in printed


@ATTACKS.tried(
    "ids of runs, suites, branches and people such as `../../x` in the store",
    "store branch",
    "files outside of the store are written or read",
    "every name becomes one segment of letters, digits, `_`, `-` and `=XX`",
)
@pytest.mark.parametrize(
    "evil", ["../../../evil", "/etc/evil", "..", ".", "a\x00b", "=2E=2E", "x" * 5_000, "\u202e../é"]
)
def test_no_name_leaves_the_store(tmp_path: Path, evil: str) -> None:
    runs = SmallRuns(tmp_path, n=3)
    runs.run()
    saved = read_run(runs.output("run-1"))
    head = saved.head.model_copy(update={"run_id": evil, "suite": evil, "branch": evil})
    root = tmp_path / "deep" / "er" / "store"
    store = DirectoryStore(uri=str(root))
    store.save(head, saved.results())
    store.event(evil, "accepted", evil, head.created_at, evil)
    assert [found.run_id for found in store.heads(evil, branch=evil)] == [evil]
    assert [event.by for event in store.events(evil)] == [evil]
    assert len(list(store.samples(evil))) == 3
    assert list((tmp_path / "deep").iterdir()) == [root.parent]
    assert list(root.parent.iterdir()) == [root]


@ATTACKS.tried(
    "a template that includes `../../secret`, an absolute path or a link, or that reaches for Python's own objects",
    "branch",
    "files and secrets in reports or prompts; code",
    "a sandbox; includes stay in the folder of templates, and what they may see is the report alone",
)
@pytest.mark.parametrize(
    "source",
    [
        "{% include '../secret' %}",
        "{% include '/etc/passwd' %}",
        "{% extends '../../secret' %}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ report.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.environ }}",
        "{{ self._TemplateReference__context.environment.loader.__class__ }}",
        "{% for i in range(10 ** 9) %}{% endfor %}",
    ],
)
def test_a_template_reaches_nothing_else(tmp_path: Path, capfd: pytest.CaptureFixture[str], source: str) -> None:
    runs = SmallRuns(tmp_path, n=3)
    runs.run()
    (tmp_path / "secret").write_text(SECRET, encoding="utf-8")
    templates = tmp_path / "templates"
    templates.mkdir()
    (templates / "report.md.j2").write_text(source, encoding="utf-8")
    code = run_cli(["report", str(runs.output("run-1")), "--templates", str(templates)])
    printed = "".join(capfd.readouterr())
    assert code == 2
    assert "report.md.j2" in printed
    assert not any(word in printed for word in (SECRET, "root:", "subclasses()", "PATH"))


@ATTACKS.tried(
    "a stored run in another run's folder",
    "store",
    "one run passes for another, such as the pinned one",
    "a head must tell of the run that its folder is named after",
)
def test_a_run_does_not_pass_for_another(tmp_path: Path) -> None:
    from ragguard.errors import StoreError

    runs = SmallRuns(tmp_path, n=3)
    for _ in range(2):
        runs.run()
    store = tmp_path / "store"
    shutil.copy(store / "runs/run-1/run.json", store / "runs/run-2/run.json")
    for read in (lambda s: s.head("run-2"), lambda s: s.heads("small"), lambda s: list(s.samples("run-2"))):
        with pytest.raises(StoreError, match="tells of another run"):
            read(DirectoryStore(uri=str(store)))
    assert write_run(tmp_path / "copy", read_run(runs.output("run-1")).head, ()).samples is not None
