"""Certificates for tests of TLS: an authority of one's own, and what it issues. Made with the program openssl, good for two days."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0
_CONFIGURATION = "[req]\ndistinguished_name = named\n[named]\n"
_NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"


@dataclass(frozen=True, slots=True)
class Papers:
    certificate: Path
    key: Path


class Authority:
    """`Authority(tmp_path).issue("untildone")`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.folder = folder
        self._configuration = folder / f"{name}.cnf"
        self._configuration.write_text(_CONFIGURATION)
        self._own = self._made(name, "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")

    @property
    def certificate(self) -> Path:
        return self._own.certificate

    def issue(self, name: str) -> Papers:
        """For a server on this machine, or for a client of that name."""
        signed = ("-CA", str(self._own.certificate), "-CAkey", str(self._own.key))
        return self._made(name, "basicConstraints=critical,CA:FALSE", _NAMES, signed=signed)

    def _made(self, name: str, *extensions: str, signed: tuple[str, ...] = ()) -> Papers:
        papers = Papers(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        kind = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        added = (word for extension in extensions for word in ("-addext", extension))
        where = ("-config", str(self._configuration), "-keyout", str(papers.key), "-out", str(papers.certificate))
        command = ("openssl", "req", *kind, *signed, "-subj", f"/CN={name}", *added, *where)
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        papers.key.chmod(0o600)
        return papers


def can_be_made() -> bool:
    return shutil.which("openssl") is not None
