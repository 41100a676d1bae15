"""Shared by all other folders: errors, logs, YAML, `[tool.toolreel]`, the HTTP server, the frame of pages."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolreel._internal import visible_text
    from toolreel._internal.daemon_thread import start_in_daemon_thread
    from toolreel._internal.errors import (
        AdapterError,
        CassetteError,
        CatalogueError,
        DurableError,
        EndpointConfigError,
        EvalPlanError,
        ForkError,
        JournalError,
        McpConfigError,
        McpServerError,
        MissingExtra,
        OutputError,
        ProxyConfigError,
        ResultsError,
        SecretFound,
        SecretRulesError,
        SkillError,
        TokenizerError,
        ToolModuleError,
        VaryError,
        check_format_version,
    )
    from toolreel._internal.http_server import Page, listening_socket, page_app, server_config
    from toolreel._internal.logs import (
        CONCERNS,
        RENAMED,
        Concern,
        LogLevel,
        is_log_enabled,
        log,
        log_error,
        show_only_errors,
    )
    from toolreel._internal.page_frame import (
        compressed_element,
        compressed_json,
        escape_hidden_characters,
        json_script_element,
        map_tree_texts,
        open_in_browser,
        read_asset_text,
        standalone_page,
        with_shortened_texts,
    )
    from toolreel._internal.prometheus import Durations, metric_lines
    from toolreel._internal.pyproject_table import (
        EVERY,
        PYPROJECT,
        SERVER_KEYS,
        SHARED_KEYS,
        ProjectSettings,
        project_settings,
        read_text_file,
        read_toml,
        toml_text,
    )
    from toolreel._internal.run_page_port import register_run_pages_loader, run_page_module
    from toolreel._internal.safe_yaml import TAG, Scalar, YamlError, YamlRules, read_tree
    from toolreel._internal.visible_text import count_with_noun, printable_json, printable_text
else:
    from toolreel_core._lazy_names import lazy_exports

    __getattr__, __dir__ = lazy_exports(__name__)
