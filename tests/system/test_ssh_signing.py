"""Signatures with real SSH keys."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from untildone.core.errors import UsageError
from untildone.system import ssh_signing


def made_key(folder: Path, name: str, *more: str) -> Path:
    path = folder / name
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "person", "-f", str(path), *more]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=30)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return made_key(tmp_path, "key")


def public(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


def test_a_signature_holds_for_its_content_and_key_only(key: Path, tmp_path: Path) -> None:
    other = made_key(tmp_path, "other")
    signature = ssh_signing.sign(str(key), b"content")
    listed = subprocess.run(["ssh-keygen", "-lf", public(key)], capture_output=True, text=True, check=True, timeout=30)
    assert ssh_signing.fingerprint(signature) == listed.stdout.split()[1]
    assert ssh_signing.signer(signature, b"content", public(key)) == ssh_signing.fingerprint(signature)
    assert ssh_signing.signer(signature, b"other content", public(key)) is None
    assert ssh_signing.signer(signature, b"content", public(other)) is None
    for wrong in (b"", b"SSHSIG", signature[:-1], signature[:-1] + b"x", b"\0" * 200):
        assert ssh_signing.signer(wrong, b"content", public(key)) is None


def test_allowed_signers_have_names_and_namespaces(key: Path, tmp_path: Path) -> None:
    signature, allowed = ssh_signing.sign(str(key), b"content"), tmp_path / "allowed"
    allowed.write_text(f'# of the team\nme@example.org namespaces="untildone" {public(key).read_text()}')
    assert ssh_signing.signer(signature, b"content", allowed) == "me@example.org"
    allowed.write_text(f'me@example.org namespaces="git" {public(key).read_text()}')
    assert ssh_signing.signer(signature, b"content", allowed) is None


def test_a_signature_for_another_purpose_does_not_count(key: Path, tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(b"content")
    command = ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(key), str(tmp_path / "content")]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    armoured = (tmp_path / "content.sig").read_text().splitlines()
    import base64

    assert ssh_signing.signer(base64.b64decode("".join(armoured[1:-1])), b"content", public(key)) is None


@pytest.mark.parametrize("what", ["missing", "passphrase", "rubbish"])
def test_a_key_that_cannot_sign_is_told_and_nobody_is_asked(tmp_path: Path, what: str) -> None:
    path = tmp_path / "bad"
    if what == "passphrase":
        made_key(tmp_path, "bad", "-N", "secret")
    elif what == "rubbish":
        path.write_text("rubbish")
    with pytest.raises(UsageError, match="Cannot sign with the key") as told:
        ssh_signing.sign(str(path), b"content")
    assert "\n" not in told.value.sentence
    assert "signing_key" in told.value.hint


def test_a_private_key_is_not_taken_for_a_public_one(key: Path) -> None:
    signature = ssh_signing.sign(str(key), b"content")
    with pytest.raises(UsageError, match="is a private key"):
        ssh_signing.signer(signature, b"content", key)
    with pytest.raises(UsageError, match="Cannot read the key"):
        ssh_signing.signer(signature, b"content", key.with_name("nothing"))


def test_the_systems_own_program_is_used(key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "ssh-keygen"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    signature = ssh_signing.sign(str(key), b"content")
    assert ssh_signing.signer(signature, b"other", public(key)) is None
