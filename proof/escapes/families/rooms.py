"""Checks: code of the agent runs in the room of a gate, and its output is told to the agent in the next round."""

from __future__ import annotations

from proof.escapes.case import Escape

FAMILY = "rooms"

# In the first round the agent writes the check; in the second it is told what the check printed.
_ROUNDS = """
prompt = sys.stdin.read()
if os.path.exists("check.py"):
    say(prompt)
else:
    with open("check.py", "w") as file:
        file.write("from kit import *\\nsay = print\\n" + {code!r} + "\\nsys.exit(1)\\n")
"""
_SECRETS = """
for name in (*W["secrets"], ".npmrc", "other-project/.env", "other-project/.git/config", "other-project/.loop/state"):
    with contextlib.suppress(OSError):
        print(name, open(f"{HOME}/{name}").read())
"""
_KEYS = """
for number in ((248, 249, 250), (217, 218, 219)):
    buffer = ctypes.create_string_buffer(500)
    key = syscall(number[1], b"user", MARK.encode(), None, -4)
    if key > 0 and syscall(number[2], 11, key, buffer, 500) > 0:
        print(buffer.value.decode())
"""
_SOCKETS = """
for name in ("docker", "gpg-agent", "dbus", "x11", "in /tmp", "ssh-agent", "tmux"):
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
        line.settimeout(3)
        line.connect(W["sockets"][name])
        line.sendall(b"hello\\n")
        print(line.recv(100))
with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
    line.connect("\\0" + W["sockets"]["abstract"])
    line.sendall(b"hello\\n")
for port in W["ports"].values():
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as line:
        line.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        print(line.recv(100))
"""
_WRITES = """
for name in W["targets"]:
    with contextlib.suppress(OSError):
        open(f"{HOME}/{name}", "a").write("ESCAPED")
for path in (f"{OUTSIDE}/escaped", f"{HOME}/.cache/escaped-by-a-check", f"{HOME}/new"):
    with contextlib.suppress(OSError):
        open(path, "a").write("ESCAPED")
"""
_OTHERS = """
for pid in range(1, 300):
    for name in ("environ", "cmdline", "root/etc/hostname", "fd"):
        with contextlib.suppress(OSError):
            path = f"/proc/{pid}/{name}"
            print(os.listdir(path) if name == "fd" else open(path, errors="replace").read())
for top in (f"{HOME}/.local/state/untildone", f"{HOME}/.config/untildone", f"{HOME}/.local/share", f"{WORKSPACE}/../.loop"):
    for folder, _, names in os.walk(top):
        for name in names:
            with contextlib.suppress(OSError):
                print(open(os.path.join(folder, name), errors="replace").read(2000))
"""


def _check(name: str, code: str, *flags: str) -> Escape:
    return Escape(
        name, _ROUNDS.format(code=code), flags=("--check", "python3 check.py", "-r", "2", *flags), needs=("python3",)
    )


ESCAPES = (
    _check("a check prints the secrets of the home folder for the next round", _SECRETS),
    _check("the same where checks run in place", _SECRETS, "--room", "plain"),
    _check("the same with the original tests put in", _SECRETS, "--room", "restored"),
    _check("a check prints keys that the kernel keeps", _KEYS),
    _check("a check prints what sockets and ports answer", _SOCKETS),
    _check("a check prints other processes and the state of untildone", _OTHERS),
    _check("a check writes start-up files and caches", _WRITES),
    _check("a proof runs the check that prints secrets", _SECRETS, "--prove"),
)
