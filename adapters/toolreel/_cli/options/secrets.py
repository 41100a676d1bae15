"""``--secrets FILE``: a project's own rules for detecting secrets."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._secrets.rules import SecretRules, read_rules, rules_in

secrets_option = click.option(
    "--secrets",
    "secret_rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with rules for detecting secrets (allow, variables, patterns, emails); by default the "
    "file in TOOLREEL_SECRETS.",
)


def rules_of(path: Path | None) -> SecretRules:
    """The rules for a command: those in the file, else those of the environment.

    :raises SecretRulesError: if the file cannot be used
    """
    return rules_in() if path is None else read_rules(path)
