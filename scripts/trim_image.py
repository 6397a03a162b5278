"""The image's last build step: put ragguard in, take out what is never used, compile what a run imports.

Runs in the image's own environment. Bytecode is made for the modules that a run really imports: it is a third of the
size of all bytecode, and without it every run of the container would compile them anew.
"""

import os
import py_compile
import shutil
import sys
import sysconfig
from importlib import import_module
from pathlib import Path

SITE = Path(sysconfig.get_paths()["purelib"])
PROGRAM = Path(sys.prefix) / "bin" / "ragguard"
# The proxy server's web page, and test suites: nothing imports them.
NEVER_USED = ("litellm/proxy/_experimental/out", "numpy/**/tests", "scipy/**/tests")
IMPORTED = (
    "ragguard.entrypoints.action",
    "ragguard.entrypoints.second_phase",
    "ragguard.app.pipeline",
    "ragguard.adapters.github_reader",
    "litellm",
    "openai",
    "httpx",
    "scipy.stats",
    "obstore.store",
    "github",
    "slack_sdk.web",
    "slack_sdk.webhook",
    "google.cloud.bigquery",
    "sentencex",
    "zstandard",
    "junitparser",
)


def main() -> None:
    """Does it."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    sys.dont_write_bytecode = True
    shutil.copytree("ragguard", SITE / "ragguard")
    PROGRAM.write_text(
        f"#!{sys.prefix}/bin/python\nfrom ragguard.entrypoints.cli import main\n\nmain()\n", encoding="utf-8"
    )
    PROGRAM.chmod(0o755)
    for pattern in NEVER_USED:
        for folder in list(SITE.glob(pattern)):
            shutil.rmtree(folder, ignore_errors=True)
    sys.path.remove(str(Path(__file__).parent))  # what is installed is imported, not what it was copied from
    for name in (*IMPORTED, *_own_modules()):
        import_module(name)
    for module in list(sys.modules.values()):
        source = getattr(module, "__file__", None) or ""
        if source.endswith(".py") and Path(source).is_file():
            # Trusted as it is: times of files may change on their way into an image.
            py_compile.compile(source, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def _own_modules() -> list[str]:
    """All of ragguard but the plugin for pytest, which is not in the image."""
    names = [path.relative_to(SITE).with_suffix("") for path in (SITE / "ragguard").rglob("*.py")]
    dotted = [".".join(name.parts).removesuffix(".__init__") for name in names]
    return [name for name in dotted if not name.endswith("pytest_plugin")]


if __name__ == "__main__":
    main()
