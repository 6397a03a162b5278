"""`ragguard action`: the entrypoint of the GitHub Action's container."""

from __future__ import annotations

import os

import click


@click.command()
def action() -> int:
    """Do one step of a GitHub workflow: inputs in, outputs and annotations out.

    Reads INPUT_… and GITHUB_… as the runner sets them; see docs/action.md.
    """
    from ragguard.entrypoints.action import run_action

    _trust_workspace()
    return run_action(os.environ)


def _trust_workspace() -> None:
    """Lets git work in the checkout, which belongs to another user than the container's: there and nowhere else."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    if workspace:
        os.environ |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": workspace,
        }
