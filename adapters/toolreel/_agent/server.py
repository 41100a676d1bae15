"""The server of an agent: from its arguments, else from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from toolreel._internal import EndpointConfigError
from toolreel._secrets import Secret

URL_VARIABLES: Final = ("TOOLREEL_BASE_URL", "OPENAI_BASE_URL")
KEY_VARIABLE: Final = "TOOLREEL_API_KEY"
OPENAI_KEY_VARIABLE: Final = "OPENAI_API_KEY"
_OPENAI: Final = "https://api.openai.com"


@dataclass(frozen=True, slots=True)
class Server:
    """A base URL, and the key or the name of its variable."""

    base_url: str
    api_key: Secret | None
    api_key_env: str | None


def server_of(
    base_url: str | None, api_key: Secret | None, api_key_env: str | None, environ: Mapping[str, str]
) -> Server:
    """The server that the arguments name, else ``TOOLREEL_*``, else ``OPENAI_*``.

    ``OPENAI_API_KEY`` goes to OpenAI and to the server of ``OPENAI_BASE_URL`` only: it is in many
    environments, and no other server shall get it.

    :raises EndpointConfigError: if no URL is named
    """
    url = base_url or next((environ[name] for name in URL_VARIABLES if environ.get(name, "").strip()), "")
    if not url.strip():
        raise EndpointConfigError(
            'no server is named: write Agent(..., base_url="http://127.0.0.1:8080/v1"), or set '
            f"{' or '.join(URL_VARIABLES)}"
        )
    if api_key is not None or api_key_env is not None:
        return Server(url, api_key, api_key_env)
    if environ.get(KEY_VARIABLE, "").strip():
        return Server(url, None, KEY_VARIABLE)
    of_openai = {_origin(_OPENAI), _origin(environ.get("OPENAI_BASE_URL", ""))}
    if environ.get(OPENAI_KEY_VARIABLE, "").strip() and _origin(url) in of_openai:
        return Server(url, None, OPENAI_KEY_VARIABLE)
    return Server(url, None, None)


def _origin(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url.strip())
    except ValueError:  # the endpoint says what is wrong with it
        return "", ""
    return parts.scheme.lower(), parts.netloc.lower()
