"""covers: the socket by which an agent reaches its own loops: what a killed runner left is removed, what listens stays."""

from __future__ import annotations

import socket
from pathlib import Path

from untildone.system import request_socket
from untildone.system.request_socket import NAME, PREFIX, RequestSocket


def test_the_folder_of_a_killed_process_is_removed_and_that_of_another_one_stays(tmp_path: Path) -> None:
    dead, empty, alive = (tmp_path / f"{PREFIX}{name}" for name in ("dead", "empty", "alive"))
    for folder in (dead, empty, alive):
        folder.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(dead / NAME))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(alive / NAME))
        listening.listen(1)
        request_socket.remove_dead(str(tmp_path))
        assert dead.exists(), "a new one may not listen yet"
        request_socket.remove_dead(str(tmp_path), new_for=-1)
        assert [path.name for path in tmp_path.iterdir()] == [alive.name]


def test_it_answers_and_leaves_nothing() -> None:
    with RequestSocket(lambda request, pid: {"result": [request["verb"], pid > 0]}) as listening:
        assert request_socket.ask(listening.path, {"verb": "list"}, within=10) == {"result": ["list", True]}
        folder = Path(listening.path).parent
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
