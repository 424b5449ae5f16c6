"""Receipts that were altered, replayed or invented, with the real command line: each is noticed, and none is believed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.boxes import boxes
from tests.support.command_line import CommandLine, Ended

__all__ = ["boxes"]

CLAIMS = "sh -c \"cat > /dev/null; echo x > done; echo '<promise>COMPLETE</promise>'\""
DOES_NOT_CLAIM = 'sh -c "cat > /dev/null; echo working"'


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    made = CommandLine(tmp_path)
    subprocess.run(["git", "init", "-q", str(made.workspace)], check=True, timeout=30)
    return made


def run(cli: CommandLine, command: str = CLAIMS, *more: str) -> str:
    ended = cli.run("run", "Mend the roof", "--command", command, "--check", "test -s done", "-r", "1", *more)
    return ended.output.split()[0]


def receipt_of(cli: CommandLine, loop_id: str) -> Path:
    (path,) = (cli.workspace / ".loop" / "history").glob(f"*{loop_id}/receipt.json")
    return path


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))


def assert_refused(ended: Ended, *words: str) -> None:
    assert ended.code == 6, (ended.output, ended.errors)
    assert all(word in ended.errors for word in words), ended.errors
    assert "Traceback" not in ended.errors
    assert "as it did then" not in ended.errors
    assert ended.output == ""


def test_an_untouched_receipt_holds(cli: CommandLine) -> None:
    loop_id = run(cli)
    ended = cli.run("verify", "--json")
    assert ended.code == 0, ended.errors
    (record,) = ended.records
    assert (record["agrees"], record["same_workspace"], record["differs"]) == (True, True, [])
    assert "as it did then" in ended.errors
    assert cli.run("verify", str(receipt_of(cli, loop_id))).errors == ended.errors


ALTERATIONS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "command": (lambda fields: fields["gates"][0].update(command="true"), "gates"),
    "no gates": (lambda fields: fields.update(gates=[]), "attestations"),
    "tree": (lambda fields: fields.update(tree_after="0" * 40), "tree_after"),
    "files": (lambda fields: fields.update(files_changed=[]), "files_changed"),
    "cost": (lambda fields: fields["spend"].update(cost_usd=0.5), "spend"),
    "hash": (lambda fields: fields["gates"][0].update(output_sha256="0" * 64), "gates"),
    "proof": (lambda fields: fields.update(proof="held-out"), "proof"),
    "task": (lambda fields: fields.update(task="Something else"), "task"),
    "agent": (lambda fields: fields["agent"].update(version="9.9"), "agent"),
    "tampering": (lambda fields: fields.update(tampering=["nothing"]), "tampering"),
    "one more field": (lambda fields: fields.update(approved_by="the person"), "approved_by"),
}


def test_an_altered_receipt_is_refused(cli: CommandLine) -> None:
    path = receipt_of(cli, run(cli))
    written = path.read_text()
    for change, name in ALTERATIONS.values():
        path.write_text(written)
        edit(path, change)
        assert_refused(cli.run("verify"), "was altered", name)
    assert_refused(cli.run("verify", str(path)), "was altered")


def forged_statement(fields: dict[str, Any]) -> None:
    """Change the receipt and what was signed alike, and keep the signatures."""
    import base64

    fields["task"] = "Something else"
    signatures = [each["signatures"] for each in fields.pop("attestations")]
    from untildone.core.receipts.attestation import attested

    fields["attestations"] = attested(fields, lambda _content: ())["attestations"]
    for each, kept in zip(fields["attestations"], signatures, strict=True):
        assert base64.b64decode(each["payload"])
        each["signatures"] = kept


def test_a_receipt_with_statements_to_match_is_refused(cli: CommandLine) -> None:
    loop_id = run(cli)
    edit(receipt_of(cli, loop_id), forged_statement)
    assert_refused(cli.run("verify"), "no valid signature")


@pytest.mark.parametrize("gone", ["signatures", "attestations"])
def test_a_receipt_without_a_signature_is_refused(cli: CommandLine, gone: str) -> None:
    loop_id = run(cli)

    def strip(fields: dict[str, Any]) -> None:
        if gone == "attestations":
            del fields["attestations"]
        else:
            for each in fields["attestations"]:
                each["signatures"] = []

    edit(receipt_of(cli, loop_id), strip)
    ended = cli.run("verify")
    assert ended.code != 0
    assert "receipt" in ended.errors


def test_the_receipt_of_a_good_loop_in_a_stopped_one_is_refused(cli: CommandLine) -> None:
    good = run(cli)
    stopped = run(cli, DOES_NOT_CLAIM)
    assert cli.run("stop", stopped).code == 0
    shutil.copy(receipt_of(cli, good), receipt_of(cli, stopped))
    assert_refused(cli.run("verify", stopped), "is that of loop", good)


def test_the_receipt_is_that_of_the_last_end_also_if_the_entry_of_an_earlier_one_was_damaged(cli: CommandLine) -> None:
    loop_id = run(cli)
    first = receipt_of(cli, loop_id).read_text()
    archived = receipt_of(cli, loop_id).parent
    for path in archived.glob(f"{loop_id}.json*"):
        path.unlink()
    journal = archived / "execution.log.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert cli.shown(loop_id)["status"] == "running"
    assert cli.run("resume", loop_id).output.split() == [loop_id, "verified"]
    ended = cli.run("verify", loop_id)
    assert (ended.code, "as it did then" in ended.errors) == (0, True), ended.errors
    assert json.loads(receipt_of(cli, loop_id).read_text())["ended"] != json.loads(first)["ended"]
    assert (receipt_of(cli, loop_id).parent / "receipt-1.json").read_text() == first


def test_loops_that_were_copied_to_another_folder_are_refused_there(cli: CommandLine, tmp_path: Path) -> None:
    loop_id = run(cli)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(cli.workspace / ".loop", elsewhere / ".loop")
    assert_refused(cli.run("verify", loop_id, cwd=elsewhere), "not ours")
    told = cli.run("verify", str(next(elsewhere.glob(".loop/history/*/receipt.json"))), cwd=elsewhere)
    assert (told.code, "Nothing was run" in told.errors) == (0, True)
    assert str(cli.workspace) in told.output, "it says which workspace it is about"


def test_a_workspace_that_changed_since_is_named(cli: CommandLine) -> None:
    run(cli)
    (cli.workspace / "sneaked.py").write_text("changed\n")
    ended = cli.run("verify")
    assert (ended.code, "as it did then" in ended.errors) == (6, False)
    assert "Every check passes now. The receipt is about another workspace than this one" in ended.errors
    assert "these files differ: sneaked.py" in ended.errors
    (record,) = cli.run("verify", "--json").records
    assert (record["same_workspace"], record["differs"]) == (False, ["sneaked.py"])
    (cli.workspace / "done").write_text("")
    assert cli.run("verify").code == 6


def test_code_that_is_right_in_a_room_only_is_found_out_in_place(cli: CommandLine, boxes: None) -> None:
    """In the namespaces of a room the numbers of processes are small."""
    cli.run(
        "run",
        "Mend the roof",
        "--command",
        CLAIMS,
        "--check",
        "test -s done && test $$ -lt 100",
        "-r",
        "1",
        "--room",
        "sealed",
    )
    assert cli.run("verify").code == 0
    ended = cli.run("verify", "--room", "plain")
    assert (ended.code, "Not every check passes now" in ended.errors) == (6, True), ended.errors


def made_key(folder: Path, name: str) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=30)
    return folder / name


def test_a_signed_receipt_can_be_checked_anywhere_with_the_public_key(cli: CommandLine, tmp_path: Path) -> None:
    key, stranger = made_key(tmp_path, "key"), made_key(tmp_path, "stranger")
    cli.environment["UNTILDONE_SIGNING_KEY"] = str(key)
    loop_id = run(cli)
    assert cli.run("verify").code == 0
    other = CommandLine(tmp_path / "another")
    receipt = other.workspace / "receipt.json"
    shutil.copy(receipt_of(cli, loop_id), receipt)
    unknown = other.run("verify", str(receipt))
    assert_refused(unknown, "no valid signature", "--key", "SHA256:")
    told = other.run("verify", str(receipt), "--key", f"{key}.pub", "--json")
    assert told.code == 0, told.errors
    (record,) = told.records
    assert (record["loop_id"], record["receipt"]["outcome"]) == (loop_id, "verified")
    assert record["signed_by"].startswith("SHA256:")
    assert_refused(other.run("verify", str(receipt), "--key", f"{stranger}.pub"), "no valid signature")
    cli.environment["UNTILDONE_SIGNING_KEY"] = str(stranger)
    invented = receipt_of(cli, run(cli))
    assert_refused(other.run("verify", str(invented), "--key", f"{key}.pub"), "no valid signature")
    edit(receipt, lambda fields: fields.update(task="Something else"))
    assert_refused(other.run("verify", str(receipt), "--key", f"{key}.pub"), "was altered", "task")
    edit(receipt, forged_statement)
    assert_refused(other.run("verify", str(receipt), "--key", f"{key}.pub"), "no valid signature")


def test_what_a_stopped_loop_says_is_no_success(cli: CommandLine, tmp_path: Path) -> None:
    cli.environment["UNTILDONE_SIGNING_KEY"] = str(made_key(tmp_path, "key"))
    stopped = run(cli, DOES_NOT_CLAIM)
    assert cli.run("stop", stopped).code == 0
    told = cli.run("verify", str(receipt_of(cli, stopped)), "--key", str(tmp_path / "key.pub"))
    assert (told.code, told.output.splitlines()[0]) == (6, f"{stopped}: stopped")


@pytest.mark.parametrize("where", ["missing", "in the workspace"])
def test_a_signing_key_that_cannot_be_used_is_told_before_the_loop_begins(cli: CommandLine, where: str) -> None:
    key = cli.workspace / "key" if where == "missing" else made_key(cli.workspace, "key")
    cli.environment["UNTILDONE_SIGNING_KEY"] = str(key if where != "missing" else cli.home / "nothing")
    ended = cli.run("run", "Mend the roof", "--command", CLAIMS)
    assert ended.code == 2, ended.errors
    assert "key" in ended.errors
    assert cli.loops == []


def test_a_key_that_is_gone_at_the_end_leaves_a_sealed_receipt(cli: CommandLine, tmp_path: Path) -> None:
    key = made_key(tmp_path, "key")
    cli.environment["UNTILDONE_SIGNING_KEY"] = str(key)
    loop_id = run(
        cli, f"sh -c \"cat > /dev/null; rm -f {key} {key}.pub; echo x > done; echo '<promise>COMPLETE</promise>'\""
    )
    assert cli.run("verify").code == 0
    assert "Not signed with your key" in receipt_of(cli, loop_id).with_name("report.md").read_text()


def test_bad_arguments_are_one_sentence(cli: CommandLine) -> None:
    run(cli)
    for arguments in (("nothing.json",), ("/dev/null",), (".",), ("receipt.json", "--key", "nothing")):
        ended = cli.run("verify", *arguments)
        assert ended.code in (2, 6), (arguments, ended.errors)
        assert "Traceback" not in ended.errors
