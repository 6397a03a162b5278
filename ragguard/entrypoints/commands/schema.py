"""`ragguard schema`: the JSON Schema of the config."""

from __future__ import annotations

import click


@click.command()
def schema() -> None:
    """Print the JSON Schema of ragguard.yaml.

    Editors complete and check the config with it: keep `# yaml-language-server: $schema=<path>` as its first line.
    """
    from ragguard.app.config_schema import config_schema_text

    click.echo(config_schema_text())
