"""The scratch home of a person, with secrets, other projects, sockets and processes, and what has become of them."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

KEYRING_OF_USER = -4
_ADD_KEY, _REVOKE = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine, (0, 0))
SECRETS = (
    ".ssh/id_ed25519", ".gnupg/private-keys-v1.d/key.key", ".aws/credentials", ".azure/token.json", ".kube/config", ".netrc",
    ".config/gh/hosts.yml", ".config/gcloud/credentials.db", ".docker/config.json", ".git-credentials", ".pypirc", ".password-store/a.gpg",
    ".mozilla/firefox/p/logins.json", ".config/google-chrome/Default/Login Data", ".local/share/keyrings/login.keyring", ".bash_history",
    ".cargo/credentials.toml", ".claude/.credentials.json", ".codex/auth.json", ".terraform.d/credentials.tfrc.json", ".env",
    ".config/untildone/config.toml", ".local/state/untildone/canary", ".local/share/opencode/auth.json", ".vault-token",
)  # fmt: skip
"""Files of the home folder that no agent has a reason to read."""
TARGETS = (
    ".bashrc", ".profile", ".zshrc", ".gitconfig", ".config/git/config", ".local/bin/tool", ".config/systemd/user/x.service",
    ".config/autostart/x.desktop", ".claude/settings.json", ".claude.json", ".codex/config.toml", ".config/fish/config.fish",
    ".config/untildone/config.toml", ".vimrc", ".npmrc",
)  # fmt: skip
"""Files of the home folder that other programs run or read."""
OWN = (".local/state/untildone", ".cache", ".npm", ".cargo")
"""Folders of the home folder that change: the state of untildone, and caches that boxes may write to."""


@dataclass(slots=True)
class World:
    folder: Path
    word: str
    """Is in every secret."""
    mark: str
    """Is on the command line of every process that a try leaves behind."""
    knocks: list[str] = field(default_factory=list)
    """The names of listeners outside that were connected to."""
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    sockets: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def environment(self) -> dict[str, str]:
        """What a person's shell has."""
        return {
            "PATH": os.pathsep.join((str(self.folder / "bin"), str(self.home / ".local/bin"), os.environ["PATH"])),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path and os.path.isdir(path)),
            "UNTILDONE_RETRY_DELAY": "0.05",
            "SSH_AUTH_SOCK": self.sockets.get("ssh-agent", ""),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.sockets.get('dbus', '')}",
            "UNTILDONE_TOKEN": f"token-{self.word}",
        }

    @property
    def in_memory(self) -> str:
        """A file in memory of a program outside."""
        return f"/dev/shm/{self.folder.name}"

    def facts(self) -> str:
        """What a try may know."""
        known = {
            "home": str(self.home),
            "outside": str(self.outside),
            "mark": self.mark,
            "victim": self.children[0].pid,
            "in_memory": self.in_memory,
        }
        return json.dumps(
            {**known, "ports": self.ports, "sockets": self.sockets, "secrets": SECRETS, "targets": TARGETS}
        )

    def survivors(self) -> list[int]:
        """Processes that a try left behind."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and self.mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return [pid for pid in found if pid != os.getpid() and not _is_ended(pid)]

    def state(self) -> dict[str, str]:
        """Every file outside of workspaces, with a digest of what it is, and facts about the machine."""
        found = {
            path: _digest(path)
            for top in (self.home, self.outside, self.folder / "bin")
            for path in _files(top, self.home)
        }
        return {**found, "hostname": socket.gethostname(), "victim": str(self.children[0].poll()), **_kernel()}

    def close(self) -> None:
        for pid in self.survivors():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for child in self.children:
            with contextlib.suppress(OSError):
                child.kill()
            child.wait()
        subprocess.run(["tmux", "-S", self.sockets["tmux"], "kill-server"], capture_output=True) if shutil.which(
            "tmux"
        ) else None
        with contextlib.suppress(OSError):
            os.unlink(self.sockets["in /tmp"])
        with contextlib.suppress(OSError):
            os.unlink(self.in_memory)
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_ended(pid: int) -> bool:
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    return True


def _files(top: Path, home: Path) -> Iterator[str]:
    own = {str(home / name) for name in OWN}
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in own]
        yield from (os.path.join(folder, name) for name in (*names, *folders))


def _digest(path: str) -> str:
    try:
        info = os.lstat(path)
        content = b"" if not os.path.isfile(path) or os.path.islink(path) else Path(path).read_bytes()
    except OSError as problem:
        return str(problem)
    return f"{info.st_mode} {info.st_uid} {info.st_nlink} {hashlib.sha256(content).hexdigest()}"


def _kernel() -> dict[str, str]:
    names = ("kernel/core_pattern", "kernel/modprobe", "kernel/hostname", "vm/overcommit_memory")
    return {name: Path("/proc/sys", name).read_text() for name in names if os.access(f"/proc/sys/{name}", os.R_OK)}


@contextlib.contextmanager
def new_world(parent: Path | None) -> Iterator[World]:
    """A world in a folder of its own, with everything in it that a try may want to reach."""
    folder = Path(tempfile.mkdtemp(prefix="escapes-", dir=parent)).resolve()
    world = World(folder, f"word{secrets.token_hex(8)}", f"mark{secrets.token_hex(8)}")
    try:
        _fill(world)
        _start(world)
        yield world
    finally:
        world.close()


def _fill(world: World) -> None:
    for name in (*TARGETS, *SECRETS):
        path = world.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" if name.startswith(".local/bin") else "")
    for name in SECRETS:
        text = f"# {world.word}\n" if name.endswith(".toml") else f"{world.word}\n"
        (world.home / name).write_text(text)
    (world.home / ".npmrc").write_text(f"//registry.example/:_authToken={world.word}\ncolor=false\n")
    (world.home / ".claude.json").write_text("{}\n")
    (world.home / ".claude/settings.json").write_text("{}\n")
    (world.home / ".local/bin/tool").chmod(0o755)
    for path in (world.outside, world.folder / "bin", world.folder / "work"):
        path.mkdir()
    (world.outside / "file").write_text("as it was\n")
    other = world.home / "other-project"
    _git(other, "init", "-q")
    _git(other, "config", "remote.origin.url", f"https://user:{world.word}@git.example/x.git")
    (other / ".env").write_text(f"SECRET={world.word}\n")
    (other / ".loop").mkdir()
    (other / ".loop" / "state").write_text(world.word)


def _git(folder: Path, *arguments: str) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, env={"PATH": os.environ["PATH"], "HOME": "/"}
    )


def _start(world: World) -> None:
    hidden = world.in_memory
    Path(hidden).write_text(world.word)
    victim = "import sys, time; kept = open(sys.argv[1]); time.sleep(3600)"
    environment = {"PATH": os.environ["PATH"], "SECRET": world.word}
    world.children.append(subprocess.Popen([sys.executable, "-c", victim, hidden], env=environment))
    _listen(world, "loopback", socket.AF_INET, ("127.0.0.1", 0))
    _listen(world, "forbidden", socket.AF_INET, ("127.0.0.1", 0))
    with contextlib.suppress(OSError):
        _listen(world, "loopback6", socket.AF_INET6, ("::1", 0))
    _listen(world, "abstract", socket.AF_UNIX, f"\0{world.mark}")
    (world.home / ".gnupg").mkdir(exist_ok=True)
    places = {
        "gpg-agent": world.home / ".gnupg" / "S.gpg-agent",
        "dbus": world.home / "bus",
        "docker": world.home / "docker.sock",
        "x11": world.home / "X0",
        "in /tmp": Path("/tmp", f"{world.mark}.sock"),
    }
    for name, path in places.items():
        world.sockets[name] = str(path)
        _listen(world, name, socket.AF_UNIX, str(path))
    world.sockets["abstract"] = world.mark
    world.sockets["tmux"] = str(world.outside / "tmux")
    world.sockets["ssh-agent"] = str(world.outside / "ssh")
    if shutil.which("ssh-agent"):
        command = ["ssh-agent", "-D", "-a", world.sockets["ssh-agent"]]
        world.children.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
    if shutil.which("tmux"):
        quiet = {"PATH": os.environ["PATH"], "HOME": str(world.home), "TERM": "xterm"}
        subprocess.run(
            ["tmux", "-S", world.sockets["tmux"], "new-session", "-d", "sleep 3600"], env=quiet, capture_output=True
        )
    if _ADD_KEY:
        ctypes.CDLL(None).syscall(
            _ADD_KEY, b"user", world.mark.encode(), world.word.encode(), len(world.word), KEYRING_OF_USER
        )
    time.sleep(0.2)


def _listen(world: World, name: str, family: int, address: object) -> None:
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.bind(address)  # type: ignore[arg-type]
    listening.listen()
    if family != socket.AF_UNIX:
        world.ports[name] = listening.getsockname()[1]
    threading.Thread(target=_answer, args=(world, name, listening), daemon=True).start()


def _answer(world: World, name: str, listening: socket.socket) -> None:
    """Note every connection. The server that boxes may reach sends its clients on to the one that they may not."""
    while True:
        client, _ = listening.accept()
        with client, contextlib.suppress(OSError):
            client.settimeout(3)
            request = client.recv(4096)
            if name == "loopback" and b"allowed" in request:
                place = f"http://127.0.0.1:{world.ports['forbidden']}/"
                client.sendall(f"HTTP/1.0 302 Found\r\nLocation: {place}\r\n\r\n".encode())
                continue
            world.knocks.append(name)
            client.sendall(f"HTTP/1.0 200 OK\r\n\r\n{world.word}".encode())
