"""Commands of a loop contain no secret, and settings are a source of secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from untildone import settings
from untildone.core.errors import UsageError
from untildone.operations.creating import known_secrets
from untildone.operations.creating.loop_settings import loop_settings

SECRET = "s3cret-0123456789"
AGENT = {"agent": "command", "command": "cat"}


def kept(folder: Path, flags: dict[str, Any], environment: dict[str, str]) -> None:
    chosen = settings.load(folder, {**AGENT, **flags}, environment)
    loop_settings(chosen, str(folder), {"PATH": "/usr/bin:/bin", **environment})


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"checks": [f"! grep -q {SECRET} out.log"]}, "The check contains the value of API_KEY, a secret"),
        ({"checks": ["true", f"curl -u $(echo {SECRET.encode().hex()})"]}, "The check contains the value of API_KEY"),
        ({"command": f"cat {SECRET}"}, "The command of an agent contains the value of API_KEY"),
        ({"args": [f"--key={SECRET}"]}, "The command of an agent contains the value of API_KEY"),
    ],
)
def test_a_command_with_a_secret_is_refused(tmp_path: Path, flags: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as refused:
        kept(tmp_path, flags, {"API_KEY": SECRET})
    assert "API_KEY" in refused.value.hint
    assert SECRET not in f"{refused.value.sentence}{refused.value.hint}"


def test_so_is_one_in_the_settings_file_with_a_secret_of_a_profile(tmp_path: Path) -> None:
    (tmp_path / "untildone.toml").write_text(
        f'checks = ["test -n {SECRET}"]\n[profiles.mine]\nagent = "command"\nenv = {{ SERVICE_TOKEN = "{SECRET}" }}\n'
    )
    with pytest.raises(UsageError, match="The check contains the value of SERVICE_TOKEN"):
        kept(tmp_path, {}, {})


def test_a_name_in_place_of_the_value_is_fine(tmp_path: Path) -> None:
    kept(tmp_path, {"checks": ['test -n "$API_KEY"']}, {"API_KEY": SECRET})


def test_what_notifications_need_is_secret(tmp_path: Path) -> None:
    address = "https://hooks.example.com/services/T0/B0/xyz"
    chosen = settings.load(tmp_path, {"notify_webhook": address, "notify_secret": SECRET}, {})
    redacted = known_secrets.redactor({}, chosen).text(f"{address} {SECRET}")
    assert redacted == "[redacted UNTILDONE_NOTIFY_WEBHOOK] [redacted UNTILDONE_NOTIFY_SECRET]"
