"""Wrap is transparent: every byte, key, signal and size goes through, and the terminal is afterwards as it was."""

from __future__ import annotations

import os
import signal
import termios
from pathlib import Path

import pytest
from tests.hosts.wrapping import PATIENCE, Person
from tests.support.boxes import WITHOUT_BUBBLEWRAP, boxes
from tests.support.command_line import CommandLine, until

from untildone.system import orphans

__all__ = ["boxes"]
pytestmark = pytest.mark.timeout(300)

RAW = "import os, sys, termios, tty\ntty.setraw(0, termios.TCSANOW)\n"
ALL_BYTES = bytes(range(256)) * 40


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(CommandLine(tmp_path))


def test_every_byte_goes_both_ways_and_none_is_added(person: Person) -> None:
    person.has_program(
        RAW + "os.write(1, bytes(range(256)) * 40 + b'READY')\n"
        "got = b''\n"
        "while len(got) < 256 * 40: got += os.read(0, 4096)\n"
        "open('got', 'wb').write(got)\n"
    )
    with person.wraps() as terminal:
        terminal.until(lambda: terminal.output.endswith(b"READY"), PATIENCE)
        terminal.send(ALL_BYTES, PATIENCE)
        assert terminal.ends(PATIENCE) == 0
    assert terminal.output == ALL_BYTES + b"READY"
    assert (person.cli.workspace / "got").read_bytes() == ALL_BYTES


def test_much_output_arrives_whole_although_the_program_is_gone(person: Person) -> None:
    person.has_program(
        RAW + "import random\n"
        "content = random.Random(7).randbytes(1 << 16).replace(b'\\x1b', b'') * 64\n"
        "while content: content = content[os.write(1, content):]\n"
    )
    with person.wraps() as terminal:
        assert terminal.ends(PATIENCE) == 0
    import random

    assert terminal.output == random.Random(7).randbytes(1 << 16).replace(b"\x1b", b"") * 64


def test_a_large_paste_reaches_a_slow_reader_whole(person: Person) -> None:
    person.has_program(
        RAW + "import time\n"
        "os.write(1, b'\\x1b[?2004hREADY')\n"
        "got = b''\n"
        "while not got.endswith(b'\\x1b[201~'):\n"
        "    got += os.read(0, 1024); time.sleep(0.001); os.write(1, b'.')\n"
        "open('got', 'wb').write(got); os.write(1, b'\\x1b[?2004l')\n"
    )
    pasted = b"\x1b[200~" + b"a line of text that is pasted\r" * 7000 + b"\x1b[201~"
    with person.wraps() as terminal:
        terminal.until(lambda: b"READY" in terminal.output, PATIENCE)
        terminal.send(pasted, PATIENCE)
        assert terminal.ends(PATIENCE) == 0
    assert (person.cli.workspace / "got").read_bytes() == pasted
    assert terminal.output.endswith(b".\x1b[?2004l"), "nothing is undone that the program undid itself"


def test_the_mouse_and_other_sequences_arrive_as_they_are(person: Person) -> None:
    keys = b"\x1b[<0;10;20M\x1b[<0;10;20m\x1b[I\x1b[1;5C\x1bOP\x1b[97;5u\x03\x1a\x04\x1c"
    person.has_program(
        RAW
        + f"os.write(1, b'\\x1b[?1003;1006hREADY')\ngot = b''\nwhile len(got) < {len(keys)}: got += os.read(0, 100)\n"
        "open('got', 'wb').write(got)\n"
    )
    with person.wraps() as terminal:
        terminal.until(lambda: b"READY" in terminal.output, PATIENCE)
        terminal.send(keys)
        assert terminal.ends(PATIENCE) == 0
    assert (person.cli.workspace / "got").read_bytes() == keys


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_its_exit_code_is_that_of_the_agent(person: Person, code: int) -> None:
    person.has_program(f"raise SystemExit({code})")
    with person.wraps() as terminal:
        assert terminal.ends(PATIENCE) == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT])
def test_it_dies_of_what_the_agent_died_of(person: Person, number: signal.Signals) -> None:
    person.has_program(
        f"import os, signal, sys\nif {number} != 9: signal.signal({number}, signal.SIG_DFL)\nos.kill(os.getpid(), {number})"
    )
    with person.wraps() as terminal:
        assert terminal.ends(PATIENCE) == -number


def test_an_agent_that_is_killed_leaves_the_terminal_as_it_was(person: Person) -> None:
    person.has_program(
        RAW + "os.write(1, b'\\x1b[?1049h\\x1b[?25l\\x1b[?1003;1006h\\x1b[?2004h\\x1b[?1004h\\x1b[>1u\\x1b=')\n"
        "os.kill(os.getpid(), 9)"
    )
    words = f"stty -a > before; {person.shell_words}; echo code $?; stty -a > after"
    with person.at_terminal("/bin/sh", "-c", words) as terminal:
        terminal.shows("code 137", PATIENCE)
        assert terminal.ends(PATIENCE) == 0
    place = person.cli.workspace
    assert (place / "before").read_text() == (place / "after").read_text()
    undone = terminal.output.partition(b"\x1b=")[2].partition(b"\x1b[0m")[0]
    expected = [b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[?1004l", b"\x1b>", b"\x1b[<1u"]
    assert undone == b"".join(expected) + b"\x1b[?1049l"


def test_the_agent_has_the_same_terminal(person: Person) -> None:
    """Its settings, its size, its name for itself, and a controlling terminal."""
    person.has_program(
        "import os, subprocess, sys\n"
        "subprocess.run(['stty', '-a'], stdout=open('inside', 'w'))\n"
        "print(os.isatty(0), os.isatty(1), os.isatty(2), os.tcgetpgrp(0) == os.getpgrp(), open('/dev/tty').isatty())"
    )
    words = f"stty erase '^H' -ixon; stty -a > outside; {person.shell_words}"
    with person.at_terminal("/bin/sh", "-c", words) as terminal:
        terminal.shows("True True True True True", PATIENCE)
        assert terminal.ends(PATIENCE) == 0
    place = person.cli.workspace
    assert (place / "inside").read_text() == (place / "outside").read_text()


def test_errors_that_go_to_a_file_still_do(person: Person) -> None:
    person.has_program("import sys\nprint('to the file', file=sys.stderr)\nprint('to the screen')")
    with person.at_terminal("/bin/sh", "-c", f"{person.shell_words} 2> errors") as terminal:
        assert terminal.ends(PATIENCE) == 0
    assert (person.cli.workspace / "errors").read_text() == "to the file\n"
    assert terminal.output == b"to the screen\r\n"


def test_a_new_size_is_told_at_once(person: Person) -> None:
    person.has_program(
        "import os, select, signal\n"
        "def tell(*_): os.write(1, f'{tuple(os.get_terminal_size())}\\n'.encode())\n"
        "signal.signal(signal.SIGWINCH, tell)\n"
        "tell()\n"
        # Not one long wait: a signal just before it begins would be acted on only when it ends.
        "while not select.select([0], [], [], 0.1)[0]: pass\n"
    )
    with person.wraps() as terminal:
        terminal.shows("(160, 50)", PATIENCE)
        terminal.resize(31, 77)
        terminal.shows("(77, 31)", PATIENCE)
        terminal.type("\r")
        assert terminal.ends(PATIENCE) == 0


def test_ctrl_c_goes_to_the_agent_alone(person: Person) -> None:
    person.has_program(
        "import os, time\n"
        "try:\n    os.write(1, b'READY')\n    while True: time.sleep(0.1)\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
        "input()\nraise SystemExit(4)"
    )
    with person.wraps() as terminal:
        terminal.shows("READY", PATIENCE)
        terminal.type("\x03")
        terminal.shows("interrupted", PATIENCE)
        terminal.type("\r")
        assert terminal.ends(PATIENCE) == 4


def test_ctrl_z_and_fg(person: Person) -> None:
    """In a shell with jobs, as one program: suspended, the terminal is the shell's; continued, it is the agent's again."""
    person.has_program("print('READY', flush=True)\nwhile (line := input()) != 'end': print('heard', line, flush=True)")
    with person.at_terminal("/bin/bash", "--norc", "--noediting", "-i") as terminal:
        terminal.enter(person.shell_words)
        terminal.shows("READY", PATIENCE)
        terminal.type("\x1a")
        terminal.shows("Stopped", PATIENCE)
        terminal.until(lambda: terminal.is_cooked)
        terminal.enter("echo still $((6 * 7))")
        terminal.shows("still 42", PATIENCE)
        terminal.resize(33, 99)
        terminal.enter("fg")
        terminal.shows("wrap", PATIENCE)
        terminal.until(lambda: not terminal.is_cooked, PATIENCE)
        terminal.enter("one")
        terminal.shows("heard one", PATIENCE)
        terminal.enter("end")
        terminal.until(lambda: terminal.is_cooked, PATIENCE)
        terminal.enter("echo code $?; exit")
        terminal.shows("code 0", PATIENCE)
        assert terminal.ends(PATIENCE) == 0


def test_a_polite_kill_reaches_the_agent(person: Person) -> None:
    person.has_program(
        "import os, signal, time\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(9))\nprint('READY', flush=True)\n"
        "while True: time.sleep(0.1)"
    )
    with person.wraps() as terminal:
        terminal.shows("READY", PATIENCE)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.ends(PATIENCE) == 9


WITH_CHILDREN = """
import os, subprocess, time
tty = os.ttyname(0)
for words in (["sleep", "1000"], ["setsid", "sleep", "1000"]):
    subprocess.Popen(words, stdin=subprocess.DEVNULL)
print("\\x1b[?1049h\\x1b[?1000hREADY", flush=True)
time.sleep(1000)
"""


def test_nothing_is_left_when_wrap_itself_is_killed(person: Person) -> None:
    person.has_program(WITH_CHILDREN)
    with person.wraps() as terminal:
        before = terminal.attributes
        terminal.shows("READY", PATIENCE)
        mark = orphans.mark(person.folders_of_runs[0].name)[0]
        until(lambda: len(orphans.find(mark)) >= 3, PATIENCE)
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.until(lambda: b"\x1b[?1000l\x1b[?1049l" in terminal.output, PATIENCE)
        terminal.until(lambda: terminal.attributes == before, PATIENCE)
        until(lambda: not orphans.find(mark), PATIENCE)
        until(lambda: not person.folders_of_runs, PATIENCE)
        assert terminal.ends(PATIENCE) == -9


def test_nothing_is_left_when_the_terminal_is_closed(person: Person) -> None:
    person.has_program("import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + WITH_CHILDREN)
    with person.wraps() as terminal:
        terminal.shows("READY", PATIENCE)
        mark = orphans.mark(person.folders_of_runs[0].name)[0]
        until(lambda: len(orphans.find(mark)) >= 3, PATIENCE)
        os.kill(terminal.pid, signal.SIGHUP)
        terminal.ends(PATIENCE)
    assert not orphans.find(mark)
    assert not person.folders_of_runs


def test_nothing_is_left_at_an_ordinary_end(person: Person) -> None:
    person.has_program("import subprocess\nsubprocess.Popen(['setsid', 'sleep', '1000'])\ninput('READY')")
    with person.wraps() as terminal:
        terminal.shows("READY", PATIENCE)
        mark = orphans.mark(person.folders_of_runs[0].name)[0]
        until(lambda: len(orphans.find(mark)) >= 2, PATIENCE)
        terminal.type("\r")
        assert terminal.ends(PATIENCE) == 0
    assert not orphans.find(mark)
    assert not person.folders_of_runs
    assert sorted(path.name for path in person.cli.workspace.iterdir()) == ["SUPERVISOR.md"]


def test_typed_ahead_is_not_lost(person: Person) -> None:
    person.has_program("print('heard', input(), flush=True)")
    with person.wraps() as terminal:
        terminal.enter("early bird")
        terminal.shows("heard early bird", PATIENCE)
        assert terminal.ends(PATIENCE) == 0


def test_without_a_terminal_it_says_so(person: Person) -> None:
    person.has_agent()
    ended = person.cli.run("wrap", env=person.environment)
    assert (ended.code, ended.errors.splitlines()[0]) == (2, "untildone: There is no terminal here.")


REFUSALS = {
    "no agent": ((), "The program 'claude' for agent 'claude' is not on PATH."),
    "unknown": (("nonsense",), "There is no agent or profile named 'nonsense'."),
    "no way": (("opencode",), "opencode cannot be wrapped: it has no hook that is asked before it stops."),
    "none looks": (("--no-review",), "Without a review and without a check, nothing is verified."),
    "no hooks": (("claude", "--bare"), "With --bare, claude runs no hook"),
    "no settings": (("claude", "--settings", "nowhere.json"), "The agent's settings nowhere.json cannot be read"),
    "bad round": (("-r", "many"), "'many' is not a number of rounds"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_work_is_said_first(person: Person, case: str) -> None:
    words, sentence = REFUSALS[case]
    person.has_agent()
    if case == "no agent":
        (person.programs / "claude").rename(person.programs / "opencode")
    path = f"{person.programs}:/usr/bin:/bin" if case == "no agent" else person.environment["PATH"]
    with person.at_terminal("/usr/bin/env", f"PATH={path}", *person.shell_words.split(), *words) as terminal:
        terminal.shows(sentence, PATIENCE)
        assert terminal.ends(PATIENCE) == 2
        assert terminal.is_cooked
    assert not person.folders_of_runs


def test_no_supervisor_file_is_said_with_what_to_do(person: Person) -> None:
    person.has_agent()
    with person.at_terminal("/bin/sh", "-c", f"rm SUPERVISOR.md; {person.shell_words}") as terminal:
        terminal.shows("There is no SUPERVISOR.md in", PATIENCE)
        terminal.shows("untildone supervisor init", PATIENCE)
        assert terminal.ends(PATIENCE) == 2


def test_the_attributes_of_a_terminal_that_was_raw_already_are_kept(person: Person) -> None:
    person.has_program("print('hello')")
    with person.at_terminal(
        "/bin/sh", "-c", f"stty raw -echo; {person.shell_words}; stty -a > after; stty sane"
    ) as terminal:
        assert terminal.ends(PATIENCE) == 0
        assert terminal.attributes[3] & termios.ICANON
    assert "-icanon" in (person.cli.workspace / "after").read_text()


class TestBox:
    WRITES = (
        "import os\n"
        "def write(name, path):\n"
        "    try: open(path, 'w'); print(name, 'written')\n"
        "    except OSError: print(name, 'refused')\n"
        "write('here', 'made'); write('there', os.path.expanduser('~/made'))\n"
    )

    @pytest.mark.usefixtures("boxes")
    @pytest.mark.parametrize(("words", "there"), [((), "refused"), (("--sandbox", "off"), "written")])
    def test_the_agent_is_in_a_box_unless_the_person_wants_none(
        self, person: Person, words: tuple[str, ...], there: str
    ) -> None:
        person.has_program(self.WRITES)
        person.cli.environment["UNTILDONE_ALLOW_WRITE"] = "[]"
        with person.wraps(*words) as terminal:
            terminal.shows(f"there {there}", PATIENCE)
            assert terminal.ends(PATIENCE) == 0
        assert terminal.output == f"here written\r\nthere {there}\r\n".encode()

    @pytest.mark.usefixtures("boxes")
    def test_what_the_shell_left_open_does_not_get_into_the_box(self, person: Person) -> None:
        person.has_program(
            "import os\n"
            "for number in os.listdir('/proc/self/fd'):\n"
            "    try: print('open:', os.readlink(f'/proc/self/fd/{number}'))\n"
            "    except OSError: pass\n"
        )
        (person.cli.home / "left-open").mkdir()
        shell = f'exec 7</ 8<"$HOME/left-open"; exec {person.shell_words}'
        with person.at_terminal("/bin/sh", "-c", shell) as terminal:
            assert terminal.ends(PATIENCE) == 0
        assert b"open: /dev/pts/" in terminal.output
        assert b"open: /\r" not in terminal.output
        assert b"left-open" not in terminal.output

    @pytest.mark.usefixtures("boxes")
    def test_where_there_is_none_it_says_why_first(self, person: Person) -> None:
        person.has_program(self.WRITES)
        with person.at_terminal("/usr/bin/env", *WITHOUT_BUBBLEWRAP, *person.shell_words.split()) as terminal:
            terminal.shows("there written", PATIENCE)
            assert terminal.ends(PATIENCE) == 0
        assert terminal.output.startswith(b"sandbox: off: bubblewrap is not installed")
