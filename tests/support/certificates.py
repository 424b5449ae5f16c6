"""TLS certificates for tests: a certificate authority and the certificates it issues. Made with openssl, valid for two days."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0
_CONFIGURATION = "[req]\ndistinguished_name = named\n[named]\n"
_NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The files of a certificate and its private key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority: `Authority(tmp_path).issue("untildone")`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.folder = folder
        self._configuration = folder / f"{name}.cnf"
        self._configuration.write_text(_CONFIGURATION)
        self._own = self._make(name, "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")

    @property
    def certificate(self) -> Path:
        return self._own.certificate

    def issue(self, name: str) -> KeyPair:
        """A certificate for a server on localhost, or for a client with this name."""
        signed = ("-CA", str(self._own.certificate), "-CAkey", str(self._own.key))
        return self._make(name, "basicConstraints=critical,CA:FALSE", _NAMES, signed=signed)

    def _make(self, name: str, *extensions: str, signed: tuple[str, ...] = ()) -> KeyPair:
        pair = KeyPair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        kind = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        added = (argument for extension in extensions for argument in ("-addext", extension))
        where = ("-config", str(self._configuration), "-keyout", str(pair.key), "-out", str(pair.certificate))
        command = ("openssl", "req", *kind, *signed, "-subj", f"/CN={name}", *added, *where)
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        pair.key.chmod(0o600)
        return pair


def has_openssl() -> bool:
    return shutil.which("openssl") is not None
