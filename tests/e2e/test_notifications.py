"""People are told and can answer: notifications of real runs over kill -9, the reply link, and the token for chat bridges."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.command_line import CommandLine, until
from tests.support.receiver import HANG, receiving
from tests.support.serving import Server

NEEDS = "Which database may I use?"
AGENT = f"""#!/bin/sh
if grep -q staging; then echo work > work.txt; echo '<promise>COMPLETE</promise>'
else echo '<blocked>{NEEDS}</blocked>'; fi
"""


@pytest.fixture
def agent(cli: CommandLine) -> str:
    program = cli.home / "agent.sh"
    program.write_text(AGENT)
    program.chmod(0o755)
    return str(program)


def test_a_run_tells_by_every_channel_and_writes_no_address_anywhere(cli: CommandLine, agent: str) -> None:
    with receiving() as webhook, receiving() as chat:
        secret = "t0ken-0f-the-chat-1234"
        address = f"json://user:{secret}@127.0.0.1:{chat.port}/"
        cli.environment["UNTILDONE_NOTIFY_APPRISE"] = address
        (cli.workspace / "untildone.toml").write_text(
            f'notify_webhook = "{webhook.url}"\nnotify_secret = "hush"\n'
            # Longer than the loop takes to end its leftovers, to which this program does not belong.
            'notify_command = ["sh", "-c", "sleep 2; env > ../env.txt"]\ndashboard_url = "https://loops.example.org/"\n'
        )
        assert cli.run("run", "--command", agent, "Connect it").code == 8
    (fields,) = webhook.accepted
    assert (fields["kind"], fields["question"], fields["outcome"]) == ("blocked", NEEDS, "blocked")
    assert fields["reply_link"].startswith(f"https://loops.example.org/reply/{fields['loop_id']}?token=")
    assert "X-Untildone-Signature" in webhook.headers[0]
    (body,) = chat.bodies
    assert NEEDS in json.loads(body)["message"]
    assert fields["reply_link"].partition("?")[0] in json.loads(body)["message"]
    assert f"UNTILDONE_QUESTION={NEEDS}" in (cli.workspace.parent / "env.txt").read_text()
    kept = [path for folder in (cli.workspace / ".loop", cli.home) for path in folder.rglob("*") if path.is_file()]
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []
    assert [path for path in kept if fields["reply_token"].encode() in path.read_bytes()] == []


def test_the_address_is_not_in_the_environment_of_the_agent(cli: CommandLine) -> None:
    with receiving() as chat:
        cli.environment["UNTILDONE_NOTIFY_APPRISE"] = f"json://127.0.0.1:{chat.port}/"
        cli.environment["UNTILDONE_NOTIFY_WEBHOOK"] = chat.url
        seen = cli.home / "seen.txt"
        cli.run("run", "--command", f"sh -c 'env > {seen}; echo done'", "-r", "1", "Look around")
    assert "UNTILDONE_LOOP_ID" in seen.read_text()
    assert "NOTIFY" not in seen.read_text()
    assert len(chat.bodies) >= 2


def test_each_rest_is_told_once_however_often_the_runner_is_killed(cli: CommandLine, agent: str) -> None:
    chance = random.Random(7)
    with receiving(503, HANG, 500) as webhook:
        cli.environment["UNTILDONE_NOTIFY_WEBHOOK"] = webhook.url
        assert cli.run("run", "--command", agent, "-r", "none", "Connect it").code == 8
        for _ in range(6):
            runner = cli.start("resume")
            time.sleep(chance.uniform(0.2, 1.6))
            runner.kill()
            runner.communicate(timeout=60)
        expected = until(lambda: told_all(cli, webhook.accepted))
    assert Counter(each["id"] for each in webhook.accepted) == Counter(expected)


def told_all(cli: CommandLine, accepted: Sequence[Mapping[str, Any]]) -> set[str]:
    """The notices of all rests, after one more runner; empty if that could not deliver all before it ended."""
    assert cli.run("resume").code == 8
    (name,) = (loop["loop_id"] for loop in cli.loops)
    rests = [entry.seq for entry in journal(cli, name) if "Rested" in type(entry.event).__name__]
    expected = {f"{name}-{seq}-blocked" for seq in rests}
    return expected if {each["id"] for each in accepted} >= expected else set()


def journal(cli: CommandLine, name: str) -> list:  # type: ignore[type-arg]
    opened = cli.store().open(name)
    try:
        return list(opened.entries())
    finally:
        opened.close()


def test_a_webhook_that_hangs_does_not_hold_up_the_loop(cli: CommandLine) -> None:
    with receiving(HANG, HANG, HANG) as webhook:
        cli.environment["UNTILDONE_NOTIFY_WEBHOOK"] = webhook.url
        began = cli.home / "rounds.txt"
        ended = cli.start(
            "run", "--command", f"sh -c 'echo x >> {began}; date +%N; date +%N > work.txt'", "-r", "4", "Work"
        )
        until(lambda: webhook.bodies)
        # The first notice, at three quarters of the rounds, still hangs when the last round has ended.
        until(lambda: began.read_text().count("x") == 4)
        assert cli.shown()["outcome"] in ("budget", "stalled", None)
        ended.kill()
        ended.communicate(timeout=60)


def test_apprise_is_asked_for_in_one_sentence_where_it_is_missing(cli: CommandLine, agent: str, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as u\nreal = u.find_spec\nu.find_spec = lambda name, *a: None if name == 'apprise' else real(name, *a)\n"
    )
    cli.environment["PYTHONPATH"] = f"{hidden}:{cli.environment['PYTHONPATH']}"
    cli.environment["UNTILDONE_NOTIFY_APPRISE"] = "ntfy://a-topic"
    ended = cli.run("run", "--command", agent, "Connect it")
    assert ended.code == 2
    assert "needs the package apprise" in ended.errors
    assert "[notify]" in ended.errors


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('notify_events = ["blocked", "nonsense"]', "'nonsense' is none of blocked, rest"),
        ('notify_templates = {blocked = "{nonsense}"}', "{nonsense} is not known"),
        ('notify_templates = {nonsense = "x"}', "'nonsense' is none of blocked, rest"),
        ('notify_apprise = ["hunter2hunter2"]', "not an address of apprise"),
    ],
)
def test_a_wrong_setting_is_one_sentence_without_the_address(cli: CommandLine, line: str, sentence: str) -> None:
    (cli.workspace / "untildone.toml").write_text(f"{line}\n")
    ended = cli.run("config")
    assert ended.code == 2
    assert sentence in ended.errors
    assert "hunter2" not in ended.errors


def blocked_on(server: Server, agent: str) -> str:
    body = {"task": "Connect it", "start": True, "settings": {"agent": "command", "command": agent}}
    name = str(server.client.post("/api/v1/loops", json=body).json()["loop_id"])
    until(lambda: server.client.get(f"/api/v1/loops/{name}").json()["outcome"] == "blocked")
    return name


def test_a_chat_bridge_answers_one_loop_and_can_do_nothing_else(cli: CommandLine, agent: str) -> None:
    with receiving() as webhook:
        cli.environment["UNTILDONE_NOTIFY_WEBHOOK"] = webhook.url
        with Server(cli) as server:
            name, other = blocked_on(server, agent), blocked_on(server, agent)
            until(lambda: len(webhook.accepted) == 2)
            (fields,) = (each for each in webhook.accepted if each["loop_id"] == name)
            assert fields["reply_url"] == f"{server.url}/api/v1/loops/{name}/reply"
            with server.new_client(headers={"Authorization": f"Bearer {fields['reply_token']}"}) as bridge:
                refused = bridge.post(f"/api/v1/loops/{other}/reply", json={"text": "Use staging."})
                assert (refused.status_code, refused.json()["detail"]) == (403, "This reply token is for another loop.")
                for path in (
                    f"/api/v1/loops/{name}/stop",
                    f"/api/v1/loops/{name}/messages",
                    f"/api/v1/loops/{name}/budget",
                ):
                    assert bridge.post(path, json={}).status_code == 401
                assert bridge.get(f"/api/v1/loops/{name}").status_code == 401
                assert bridge.post(f"/api/v1/loops/{name}/reply", json={"text": ""}).status_code == 422
                answered = bridge.post(f"/api/v1/loops/{name}/reply", json={"text": "Use staging."})
                assert (answered.status_code, answered.json()["goes_on"]) == (200, True)
            until(lambda: server.client.get(f"/api/v1/loops/{name}").json()["status"] == "completed")
            assert server.client.get(f"/api/v1/loops/{other}").json()["outcome"] == "blocked"
            late = server.client.post(f"/api/v1/loops/{name}/reply", json={"text": "More."})
            assert late.status_code == 409
            nobody = httpx.post(fields["reply_url"], json={"text": "x"}, trust_env=False, timeout=30)
            assert (nobody.status_code, nobody.json()["detail"]) == (401, "The reply token is missing.")
        assert fields["reply_token"] not in server.log.read_text()


def test_the_reply_link_opens_a_page_with_the_question_and_takes_the_answer(cli: CommandLine, agent: str) -> None:
    with receiving() as webhook:
        cli.environment["UNTILDONE_NOTIFY_WEBHOOK"] = webhook.url
        with Server(cli) as server:
            server.kill()
            process = cli.start("serve", "--json", "--port", str(server.port))
            try:
                until(server.is_well)
                name = blocked_on(server, agent)
                until(lambda: webhook.accepted)
                link = webhook.accepted[0]["reply_link"]
                with httpx.Client(trust_env=False, timeout=30) as browser:
                    page = browser.get(link, headers={"Accept-Language": "zh-CN"})
                    assert (page.status_code, NEEDS in page.text, "你的回答" in page.text) == (200, True, True)
                    assert page.headers["content-security-policy"].startswith("default-src 'none'")
                    assert page.headers["cache-control"] == "no-store"
                    token = re.search(r'name="token" value="([^"]+)"', page.text)
                    assert token is not None
                    refused = browser.post(link.partition("?")[0], data={"text": "Use staging.", "token": "x"})
                    assert (refused.status_code, "not valid" in refused.text) == (403, True)
                    poison = browser.post(link.partition("?")[0], data={"text": "a\0b", "token": token[1]})
                    assert (poison.status_code, "NUL character" in poison.text) == (409, True)
                    crowd = browser.post(link.partition("?")[0], data={f"field{n}": "x" for n in range(20)})
                    assert (crowd.status_code, "not valid" in crowd.text) == (403, True)
                    sent = browser.post(link.partition("?")[0], data={"text": "Use staging.", "token": token[1]})
                    assert (sent.status_code, "the loop goes on" in sent.text) == (200, True)
                    until(lambda: server.client.get(f"/api/v1/loops/{name}").json()["status"] == "completed")
                    assert "has ended" in browser.get(link).text
                    assert browser.get(f"{server.url}/reply/{name}").status_code == 403
            finally:
                process.kill()
                process.communicate(timeout=60)
