"""Secrets of the environment never reach a file under `.loop`, and odd ones do not make a loop unreadable."""

from __future__ import annotations

import json
import os
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.support.store_conformance import iteration, loop_created

from untildone import settings
from untildone.core.events import (
    AnswerRead,
    GatesRan,
    MessageSent,
    Rested,
    SessionOpened,
    StartRequested,
    TurnEnded,
    TurnStarted,
)
from untildone.core.model import Answer, GateResult, Outcome, Role, SessionUse
from untildone.core.protection.secrets import Redactor
from untildone.engine.engine import Engine
from untildone.operations import control, stores
from untildone.operations.creating import creation
from untildone.operations.driving import runner
from untildone.store.files import FileStore

NAME = "loop-1"
SECRETS = ("s3cret-0123456789abcdef", 'quo"ted\\back\\slash-1234', "two\nlines\tof-secret", "ключ-от-всего-мира-42")
FIELD_NAMES = ("workspace", "settings", "iterations", "completed", "loop_created", "iteration_start", "description")


def written(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def forms(secret: str) -> set[bytes]:
    """The secret, plain and as JSON may encode it."""
    return {secret.encode(), json.dumps(secret)[1:-1].encode(), json.dumps(secret, ensure_ascii=False)[1:-1].encode()}


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_reaches_no_file(tmp_path: Path, secret: str) -> None:
    said = f"Use {secret} for it, also {json.dumps({'token': secret})}."
    workspace = tmp_path / "workspace"
    store = FileStore(tmp_path / ".loop", Redactor.from_environment({"SERVICE_TOKEN": secret}))
    store.create(loop_created(NAME, said))
    with store.lease(NAME) as journal:
        journal.append(
            StartRequested(),
            MessageSent(said),
            TurnStarted(Role.WORKER, 1, 1, "claude", SessionUse.NEW, said),
            SessionOpened(Role.WORKER, "claude", secret),
            TurnEnded(Role.WORKER, 1, Answer(said, denials=(said,)), 1.0),
            AnswerRead(claimed=True, skill_state={secret: [said, {"deep": said}]}, note=said, documents={"x.md": said}),
            GatesRan((GateResult("check", f"curl {secret}", passed=True, tail=said),)),
        )
        store.add_to_document(NAME, "progress.md", said)
        live = store.live_file(NAME, str(workspace))
        live.write(f"- Task ID: {NAME}\n{said}")
        assert live.edited() is None
        journal.append(Rested(Outcome.STOPPED, said))
    store.archive(NAME, json.dumps({"task": said}), said)
    live.retire(partial(store.put_document, NAME, "ralph-delta.state.md"))
    files = {**written(store.root), **written(workspace)}
    assert len(files) >= 8
    leaks = [str(path) for path, content in files.items() if any(form in content for form in forms(secret))]
    assert leaks == []
    assert "[redacted SERVICE_TOKEN]" in store.load(NAME).description


@pytest.mark.parametrize("password", FIELD_NAMES)
def test_a_password_that_is_a_word_of_ours_makes_no_loop_unreadable(tmp_path: Path, password: str) -> None:
    store = FileStore(tmp_path / ".loop", Redactor.from_environment({"DB_PASSWORD": password}))
    store.create(loop_created(NAME, f"The password is {password}."))
    with store.lease(NAME) as journal:
        journal.append(StartRequested(), *iteration(1))
    for root in (store, FileStore(store.root)):
        with closing(root.open(NAME)) as journal:
            assert journal.repairs == []
            assert journal.loop.spend.iterations == 1
            assert journal.loop.description == "The password is [redacted DB_PASSWORD]."
            assert len(list(journal.entries())) == journal.loop.seq


def test_a_secret_that_an_agent_and_a_check_print_reaches_no_file(tmp_path: Path) -> None:
    secret = SECRETS[0]
    environment = {**os.environ, "SERVICE_TOKEN": secret, "XDG_STATE_HOME": str(tmp_path / "state")}
    agent = tmp_path / "agent"
    agent.write_text(
        '#!/bin/sh\ncat\necho "$SERVICE_TOKEN"\necho "$SERVICE_TOKEN" >&2\necho "<promise>COMPLETE</promise>"\n'
    )
    agent.chmod(0o755)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    flags = {"agent": "command", "command": str(agent), "checks": ['echo "$SERVICE_TOKEN"; false'], "max_iterations": 2}
    chosen = settings.load(workspace, flags, environment)
    store = stores.open_files(workspace, environment, create=True)
    loop_id = creation.create(store, f"Use {secret}.", chosen, workspace, environment).loop.loop_id
    control.start(store, loop_id)
    around = runner.surroundings(environment, chosen)
    loop = Engine(store, around).drive(loop_id)
    assert (loop.outcome, loop.spend.iterations) == (Outcome.BUDGET, 2)
    files = written(store.root)
    assert any(path.parent.name == "output" for path in files)
    assert [str(path) for path, content in files.items() if secret.encode() in content] == []
