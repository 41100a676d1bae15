"""The option ``--secrets``: a project's own rules on what is a secret."""

from __future__ import annotations

from pathlib import Path

import click

from toolreel._secrets.rules import SecretRules, read_rules, rules_in

__all__ = ["rules_of", "secrets_option"]

secrets_option = click.option(
    "--secrets",
    "secret_rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A TOML file of rules on what is a secret: allow, variables, patterns, emails; by default the one "
    "that TOOLREEL_SECRETS names.",
)


def rules_of(path: Path | None) -> SecretRules:
    """The rules that hold for a command.

    :raises SecretRulesError: if the file cannot be used
    """
    return rules_in() if path is None else read_rules(path)
