"""Sockets of programs outside, which would do something for the agent."""

from __future__ import annotations

from proof.escapes.case import Escape, Network

from untildone.system.box import scoping

FAMILY = "sockets"

_KNOCK = 'knock(socket.AF_UNIX, W["sockets"][{!r}])'
_ABSTRACT = 'knock(socket.AF_UNIX, chr(0) + W["sockets"]["abstract"])'

ESCAPES = (
    Escape("socket in the home folder (Docker)", _KNOCK.format("docker")),
    Escape("socket of gpg-agent", _KNOCK.format("gpg-agent")),
    Escape("socket of D-Bus", f'{_KNOCK.format("dbus")}\nsay(os.environ.get("DBUS_SESSION_BUS_ADDRESS"))'),
    Escape("socket of a display", _KNOCK.format("x11")),
    Escape("socket in /tmp", _KNOCK.format("in /tmp")),
    Escape("socket in /tmp, with the network of the machine", _KNOCK.format("in /tmp"), network=Network.ALL),
    Escape(
        "all sockets of the machine",
        """
for folder, folders, names in os.walk("/run"):
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if os.stat(path).st_mode & 0o170000 == 0o140000:
                with socket.socket(socket.AF_UNIX) as line:
                    line.settimeout(1)
                    line.connect(path)
                    got(path)
""",
    ),
    Escape(
        "socket of a program of the person in the workspace",
        'knock(socket.AF_UNIX, "person.sock")',
        before="python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.bind('person.sock')\"",
    ),
    Escape("abstract socket", _ABSTRACT),
    Escape("abstract socket, without a network", _ABSTRACT, network=Network.NONE),
    Escape(
        "abstract socket, with the network of the machine",
        _ABSTRACT,
        network=Network.ALL,
        known=""
        if scoping.is_possible()
        else "abstract sockets belong to the network, which is the machine's own: --sandbox-net hosts",
    ),
    Escape(
        "ssh-agent",
        'if os.environ.get("SSH_AUTH_SOCK"):\n    got("SSH_AUTH_SOCK")\n'
        'if "no identities" in run(f"SSH_AUTH_SOCK={SSH_AGENT} ssh-add -l"):\n    got("the SSH agent answers")',
        needs=("ssh-agent",),
    ),
    Escape(
        "tmux server",
        "run(f\"tmux -S {TMUX} new-session -d 'touch {OUTSIDE}/escaped'; tmux -S {TMUX} ls\")\ntime.sleep(1)",
        needs=("tmux",),
    ),
    Escape(
        "keeps the socket of a program in the box for the next turn",
        """
listening = socket.socket(socket.AF_UNIX)
listening.bind("mine.sock")
daemonize()
""",
    ),
)
