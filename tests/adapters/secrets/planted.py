"""Secrets of every kind, put together here so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from tests.samples import worked


@dataclass(frozen=True, slots=True)
class Planted:
    """A secret, and the text in which it stands."""

    secret: str
    before: str = ""
    """What gives away that it is one, for a secret with no shape of its own."""
    after: str = ""

    @property
    def text(self) -> str:
        return f"{self.before}{self.secret}{self.after}"


def _pem(kind: str, body: str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw") -> Planted:
    return Planted(f"-----BEGIN {kind}-----\n{body}\nZ29vZCBiYW\n-----END {kind}-----")


_PASSWORD = "Tr0ub4dor" + "&3x"
_MIXED = "q7Rk2Vx9Lm4Tz8Wb"

KINDS: Mapping[str, Planted] = {
    "an OpenAI key": Planted("sk-" + "Ab1c" * 12),
    "an OpenAI project key": Planted("sk-" + "proj-" + "Zx9_k-Q" * 3 + "T3BlbkFJ" + "a1B2c3D4" * 5),
    "an Anthropic key": Planted("sk-" + "ant-api03-" + "xY9z" * 20 + "-AAAA"),
    "an OpenRouter key": Planted("sk-" + "or-v1-" + "0a1b" * 16),
    "a DeepSeek key": Planted("sk-" + "0f1e2d3c" * 4),
    "a Google key": Planted("AIza" + "Sy4Bc-D" * 5),
    "a Google OAuth token": Planted("ya29." + "a0AfH6SM" * 5),
    "a Google client secret": Planted("GOCSPX-" + "a1B2c3D4" * 3),
    "an AWS key id": Planted("AKIA" + "IOSFODNN7EXAMPL3"),
    "an AWS secret": Planted("wJalrXUtnFEMI/K7MDENG/bPxRfi" + "CYzz5KEY9x0A", "aws_secret_access_key = "),
    "a GitHub token": Planted("ghp_" + "a1B2" * 9),
    "a fine-grained GitHub token": Planted("github_pat_" + "11ABCDE" * 5),
    "a GitLab token": Planted("glpat-" + "a1B2c3D4e5-F6g7H8i9J"),
    "a Slack token": Planted("xoxb-" + "123456789012-abcdefGHIJ12"),
    "a Slack webhook": Planted(
        "T00A1B2C3/B00D4E5F6/" + "XyZ123aBc456DeF789", "https://hooks.slack.com/services/"
    ),
    "a Stripe key": Planted("sk_" + "live_" + "a1B2c3D4e5F6g7H8"),
    "a Hugging Face token": Planted("hf_" + "aBcD1" * 7),
    "a Groq key": Planted("gsk_" + "a1B2c3D4" * 6),
    "an xAI key": Planted("xai-" + "Zz9Yy8Xx" * 10),
    "a Perplexity key": Planted("pplx-" + "a1b2c3d4" * 6),
    "a Replicate token": Planted("r8_" + "A1b2C3d4E" * 4),
    "a Cerebras key": Planted("csk-" + "a1b2c3d4" * 6),
    "an NVIDIA key": Planted("nvapi-" + "a1B2c3D4" * 8),
    "an npm token": Planted("npm_" + "a1B2c3" * 6),
    "a PyPI token": Planted("pypi-" + "AgEIcHlwaS5vcmcCJD" * 4),
    "a SendGrid key": Planted("SG." + "a1B2c3D4e5F6g7H8i9J0kL" + "." + "a1B2c3D4" * 5 + "xyz"),
    "a Telegram token": Planted("123456789:" + "AA" + "Ha1B2c3D" * 4 + "e"),
    "a Databricks token": Planted("dapi" + "0123456789abcdef" * 2),
    "a JSON web token": Planted("eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0In0" + ".c2lnbmF0dXJl"),
    "a bearer token": Planted(_MIXED * 2, "Authorization: Bearer "),
    "basic authorization": Planted(
        base64.b64encode(b"me:" + _PASSWORD.encode()).decode(), "Authorization: Basic "
    ),
    "a cookie": Planted("session=" + "0a1b2c3d4e5f", "Set-Cookie: ", "; Path=/"),
    "an Azure key": Planted("0123456789abcdef" * 2, "api-key: "),
    "an Azure storage key": Planted(_MIXED * 4 + "==", "AccountName=me;AccountKey=", ";EndpointSuffix=x"),
    "a Mistral key in JSON": Planted(_MIXED * 2, '{"api_key": "', '"}'),
    "a key in the environment of a shell": Planted(_MIXED * 2, "export MISTRAL_API_KEY="),
    "a password in a setting": Planted(_PASSWORD, "password="),
    "a client secret in JSON": Planted(_MIXED + "8Q", '{"clientSecret":"', '"}'),
    "a password in a URL": Planted(_PASSWORD.replace("&", ""), "postgres://app:", "@db.internal:5432/app"),
    "a signed URL": Planted("9f8e7d6c5b4a" * 5, "https://bucket.test/a?X-Amz-Signature="),
    "a shared access signature": Planted("a1B2c3D4e5F6g7H8" + "%3D", "https://blob.test/a?se=2027&sig="),
    "a Google key in a URL": Planted(_MIXED * 2, "https://maps.test/api?q=a&key="),
    "an RSA key": _pem("RSA PRIVATE KEY"),
    "an OpenSSH key": _pem("OPENSSH PRIVATE KEY", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU"),
    "a PGP key": _pem("PGP PRIVATE KEY BLOCK", "lQOYBGUxyzABCADZ"),
}
"""By what they are."""

INNOCENT: tuple[str, ...] = (
    *worked("a text that only looks like a secret", "secrets"),
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode(),
    '{"b64_json": "' + base64.b64encode(bytes(range(7, 250)) * 30).decode() + '"}',
    "AKIA" + "IOSFODNN7EXAMPLE is the id in the manual",
)
"""What looks a little like a secret, and is none."""
