"""Evaluations that were really run: by a server on this machine that plays the scripts of the scenarios."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

from toolreel.evals import evaluate, jobs_of, new_header, select_scenarios
from toolreel.presets import shipped
from toolreel_core.evals import EvalPlan, Options, ScenarioScripts, scripted_reply

__all__ = ["HOSTILE", "evaluated", "scripted"]

HOSTILE: Final = (
    "</pre></details><script>alert('run')</script><img src=https://evil.example/x onerror=alert(1)>"
    " {{ 7 * 7 }} \x1b[31m \u202egnp.exe \ud800 <a href='https://evil.example/'>here</a> &amp; ]]>"
)
"""What the model ``local-hostile`` says."""

MEGABYTE: Final = "<b>much</b> " * 90_000
"""What the model ``local-megabyte`` says."""

BEGUN: Final = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)


def scripted(out: Path, *models: str, **changes: object) -> EvalPlan:
    """Run scripts in this process, which leaves no cassettes.

    :param models: names such as ``scripted:good``
    """
    plan = _plan(list(models or ("scripted:good", "scripted:bad")), "http://127.0.0.1:9", changes)
    _run(plan, out)
    return plan


def evaluated(out: Path, *models: str, **changes: object) -> EvalPlan:
    """Run models on a server, which leaves a cassette a run.

    :param models: ``local-good``, ``local-bad``, ``local-skipping``, ``local-hostile``,
        ``local-megabyte``
    """
    known: dict[str, ScenarioScripts] = {}
    with _server(known) as url:
        plan = _plan(list(models), url, changes)
        for sample in plan.samples():
            case = jobs_of(plan)(sample).case
            known |= {message.content: case.scripts for message in case.messages if case.scripts}
        _run(plan, out)
    return plan


def _plan(models: list[str], url: str, changes: Mapping[str, object]) -> EvalPlan:
    own, gates = changes.get("strategy", {}), changes.get("gate", [])
    chosen: dict[str, Any] = {
        "add_models": models,
        "strategies": ["raw", "production"],
        "scenarios": ["happy_path", "partial_success_failure", "chat_only"],
        "trials": 2,
        **{key: value for key, value in changes.items() if key not in {"strategy", "gate"}},
    }
    endpoint = {"base_url": url, "api_key_env": "", "provider": ""}
    options = Options.of({"eval": chosen, "strategy": own, "endpoint": endpoint, "gate": gates})
    return EvalPlan(options, shipped(), select_scenarios(options.scenarios))


def _run(plan: EvalPlan, out: Path) -> None:
    outcome = evaluate(plan, out, header=new_header(plan, BEGUN))
    assert outcome.made == plan.count, outcome


@contextmanager
def _server(known: Mapping[str, ScenarioScripts]) -> Generator[str]:
    """A server that plays scripts.

    :param known: the scripts that each text of a user or a system calls for
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(_reply(asked, known)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _reply(asked: Mapping[str, Any], known: Mapping[str, ScenarioScripts]) -> object:
    kind = asked["model"].removeprefix("local-")
    if kind in {"hostile", "megabyte"}:
        said = HOSTILE if kind == "hostile" else MEGABYTE
        message = {"role": "assistant", "content": said}
        return {"model": HOSTILE, "choices": [{"message": message, "finish_reason": "stop"}]}
    told = [entry["content"] for entry in asked["messages"] if entry["content"] in known]
    return scripted_reply(known[told[-1]].of(kind), asked["messages"], model=asked["model"])
