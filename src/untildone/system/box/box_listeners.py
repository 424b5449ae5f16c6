"""The first program in a box without a network: opens the ports at which programs find the proxy, then becomes the real program.

Its source is passed to `python -I -S -c`, so that no file of untildone must be visible in the box. It imports only what is built into
the interpreter: it runs before every turn of an agent. The ports belong to the network of the box, but the sockets are handed to
the proxy outside, which accepts connections itself. So nothing of untildone keeps running in the box.

Arguments: a descriptor that leads to the proxy, `address:port` for each port, `--`, the command. With the word `scoped` instead, it keeps
the box from abstract sockets outside and from its first process. Without either, it only makes signals what they are for programs outside
of a box.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

FAILED = 125
"""The exit code by which the runner knows, as by those of shells, that the box has failed and not the program in it."""
SCOPED = "scoped"
CREATE_RULES, _RESTRICT_SELF = 444, 446
"""Calls of Landlock, with the same numbers on every kind of machine."""
_NO_ABSTRACT_SOCKETS = bytes(16) + (1).to_bytes(8, sys.byteorder)
"""Rules about neither files nor ports, with the first scope."""


def main(arguments: list[str]) -> None:
    end = arguments.index("--")
    words, command = arguments[:end], arguments[end + 1 :]
    try:
        if words == [SCOPED]:
            _keep_from_abstract_sockets()
        elif words:
            _hand_over(int(words[0]), [_listening(port) for port in words[1:]])
    except OSError as problem:
        _fail(f"the box cannot be connected: {problem}")
    # Python ignores the first two, and the process that keeps the box at a terminal the others: ignored signals stay ignored.
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT, _signal.SIGQUIT):
        _signal.signal(number, _signal.SIG_DFL)
    _become(command)


def _keep_from_abstract_sockets() -> None:
    # The whole package would take longer to load than everything else.
    import _ctypes

    call = _ctypes.dlsym(_ctypes.dlopen(None, 0), "syscall")  # type: ignore[arg-type]
    rules = _ctypes.call_function(call, (CREATE_RULES, _NO_ABSTRACT_SOCKETS, len(_NO_ABSTRACT_SOCKETS), 0))
    if rules < 0 or _ctypes.call_function(call, (_RESTRICT_SELF, rules, 0)) != 0:
        raise OSError("Landlock refuses")
    posix.close(rules)


def _listening(port: str) -> _socket.socket:
    address, _, number = port.rpartition(":")
    opened = _socket.socket(_socket.AF_INET6 if ":" in address else _socket.AF_INET, _socket.SOCK_STREAM)
    opened.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    opened.bind((address, int(number)))
    opened.listen(128)
    return opened


def _hand_over(control: int, sockets: list[_socket.socket]) -> None:
    line = _socket.socket(fileno=control)
    descriptors = b"".join(each.fileno().to_bytes(4, sys.byteorder) for each in sockets)
    line.sendmsg([b"%d" % len(sockets)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
    line.close()
    for each in sockets:
        each.close()


def _become(command: list[str]) -> None:
    # Not the present environment: Python may have added a locale to it.
    with open("/proc/self/environ", "rb") as file:
        entries = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
    environment = {name: value for name, _, value in entries}
    program, problem = command[0], OSError(2, "No such file or directory")
    folders = (
        [""]
        if "/" in program
        else environment.get(b"PATH", b"/usr/bin:/bin").decode(errors="surrogateescape").split(":")
    )
    for folder in folders:
        try:
            posix.execve(f"{folder or '.'}/{program}" if "/" not in program else program, command, environment)
        except OSError as error:
            problem = error if error.errno != 2 else problem
    _fail(f"{program}: {problem.strerror}", 127 if problem.errno == 2 else 126)


def _fail(sentence: str, code: int = FAILED) -> NoReturn:
    posix.write(2, f"untildone: {sentence}\n".encode(errors="replace"))
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
