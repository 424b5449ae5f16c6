"""Signs and verifies with SSH keys, by `ssh-keygen -Y`: what git uses for signed commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.system import loading

NAMESPACE = "untildone"
"""A signature for one purpose does not count for another."""
PATIENCE = 20.0
"""Seconds that ssh-keygen has, with a key on a token that must be touched."""
_MAGIC = b"SSHSIG"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_SYSTEM = ("/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin")
_ANYBODY = "untildone"
"""The name for the owner of a public key that is given alone."""


def sign(key: str, content: bytes) -> bytes:
    """The signature of `content` with a private key, or with the key in the SSH agent that belongs to a public one.

    UsageError if it fails.
    """
    ended = _run(["-Y", "sign", "-n", NAMESPACE, "-f", os.path.expanduser(key)], content)
    lines = ended.stdout.decode(errors="replace").split()
    if ended.returncode or not ended.stdout.startswith(_BEGIN.encode()):
        raise UsageError(
            f"Cannot sign with the key {key}: {_said(ended)}.",
            "name a private key in `signing_key`, or add it to your SSH agent",
        )
    # The armour has three words a line: "-----BEGIN", "SSH" and "SIGNATURE-----".
    return b64decode("".join(lines[3:-3]))


def fingerprint(signature: bytes) -> str:
    """The fingerprint of the public key in a signature, as `ssh-keygen -l` shows it; empty: it is no SSH signature."""
    start = len(_MAGIC) + 8
    if not signature.startswith(_MAGIC) or len(signature) < start:
        return ""
    length = int.from_bytes(signature[start - 4 : start])
    return f"SHA256:{b64encode(sha256(signature[start : start + length]).digest()).decode().rstrip('=')}"


def signer(signature: bytes, content: bytes, keys: Path) -> str | None:
    """The signer of `content`: the name in a file of allowed signers, or the fingerprint if the file is a public key.

    None: the signature is not valid, or by none of these keys. UsageError if the file cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        allowed, armoured = Path(folder, "allowed"), Path(folder, "signature")
        allowed.write_text(_allowed_signers(keys))
        armoured.write_text(f"{_BEGIN}\n{b64encode(signature).decode()}\n{_END}\n")
        files = ["-f", str(allowed), "-s", str(armoured)]
        principals = _run(["-Y", "find-principals", *files], b"")
        name = principals.stdout.decode(errors="replace").strip().split(",")[0].split("\n")[0]
        if principals.returncode or not name:
            return None
        ended = _run(["-Y", "verify", "-n", NAMESPACE, "-I", name, *files], content)
    if ended.returncode:
        return None
    return fingerprint(signature) if name == _ANYBODY else name


def _allowed_signers(keys: Path) -> str:
    """The content of a file of allowed signers; a public key becomes the only one."""
    try:
        text = keys.read_text(errors="replace")
    except OSError as problem:
        raise UsageError(
            f"Cannot read the key {keys}: {problem.strerror}.", "give a public key or allowed signers"
        ) from None
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    if "PRIVATE KEY" in first:
        raise UsageError(f"{keys} is a private key.", f"give the public one: {keys}.pub")
    is_key = first.startswith(("ssh-", "ecdsa-", "sk-"))
    return f"{_ANYBODY} {first.strip()}\n" if is_key else text


def _run(arguments: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen. In a session of its own it has no terminal to ask for a passphrase at, so it never waits for a person."""
    # The system's program first: what is before it on PATH may have been put there by an agent.
    program = shutil.which("ssh-keygen", path=os.pathsep.join(_SYSTEM)) or shutil.which("ssh-keygen")
    if program is None:
        raise UsageError("ssh-keygen is not installed.", "install OpenSSH: apt-get install openssh-client")
    environment = {**loading.without(os.environ), "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
    try:
        return subprocess.run(
            [program, *arguments],
            input=given,
            capture_output=True,
            timeout=PATIENCE,
            env=environment,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return subprocess.CompletedProcess([program], 255, b"", str(problem).encode())


def _said(ended: subprocess.CompletedProcess[bytes]) -> str:
    lines = (ended.stderr or ended.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1].rstrip(".") if lines else f"exit code {ended.returncode}"
