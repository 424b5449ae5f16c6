"""The program behind `--agent scripted`: plays a script instead of calling a model. For demos and tests.

A script is a JSON list of turns. A call plays the first turn that is not used up; the last one repeats. Turns with a
matching `match` (or `match_system`) come before the others. The fields of a turn run in the order written; a turn that is a
list of objects can use a field several times. `scripted_script.FIELDS` lists the fields. `{call}` in a text is replaced by
the number of the call, `{word}` by the word that the prompt names for a reviewer's agreement.

It runs as a file without site-packages and imports little, so that a call takes hundredths of a second.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from untildone.testing.scripted_actions import Actions, ScriptError, leave
from untildone.testing.scripted_script import SCENARIOS, built_in, checked, chosen, play

CALL = os.urandom(8).hex()
"""Names this call in the logs: in boxes, every call has the same process id."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from untildone.testing.scripted_script import Turn

    Place = dict[str, Any]


def load(options: argparse.Namespace) -> list[Turn]:
    """The turns of the script file, or of the chosen scenario."""
    path = options.script or ("" if options.scenario else os.environ.get("UNTILDONE_SCRIPT", ""))
    if not path:
        options.scenario = options.scenario or "truthful"
        return checked(built_in(options))
    try:
        with open(path, encoding="utf-8") as file:
            script = json.load(file)
    except OSError as reason:
        raise ScriptError(f"The script {path} cannot be read: {reason.strerror}") from None
    except (ValueError, RecursionError) as reason:
        raise ScriptError(f"The script {path} is not JSON: {reason}") from None
    return checked(script.get("turns") if isinstance(script, dict) else script)


def state_folder(chosen: str = "") -> str:
    """The folder of the session files; created if it does not exist."""
    folder = chosen or os.environ.get("UNTILDONE_SCRIPT_STATE")
    if not folder:
        temporary = next((os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)), "/tmp")
        owner = os.getuid()
        folder = os.path.join(temporary, f".untildone-scripted-{owner}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def place_file(folder: str, session: str) -> str:
    """The file that stores the position of a session in the script."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", session):
        raise ScriptError(f"'{session[:60]}' cannot be the name of a session")
    return os.path.join(folder, f"{session}.json")


def read_place(path: str, session: str) -> Place:
    try:
        with open(path, encoding="utf-8") as file:
            place: Place = json.load(file)
    except FileNotFoundError:
        raise ScriptError(f"No session found with the name '{session}'") from None
    except ValueError:
        raise ScriptError(f"The file of session '{session}' is damaged; delete {path}") from None
    return place


def write_place(path: str, place: Place) -> None:
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
        json.dump(place, file)
    os.replace(f"{path}.{os.getpid()}", path)


def take_place(options: argparse.Namespace) -> tuple[str, Place]:
    """The session id of this call and its position in the script. A fork starts at the position of its original."""
    folder = state_folder(options.state)
    resumed, common = options.resume, place_file(folder, "one-place")
    place = read_place(place_file(folder, resumed), resumed) if resumed else {"calls": 0, "plays": {}}
    session = resumed if resumed and not options.fork else options.session or os.urandom(16).hex()
    if options.one_place and os.path.exists(common):
        place = read_place(common, "one-place")
    return session, place


def take_turn(options: argparse.Namespace) -> None:
    """Play one turn of the script."""
    note(options, "start", parent=os.getppid(), alone=is_alone(options.call_log) if options.call_log else True)
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    actions = Actions(options, prompt)
    turns = load(options)
    session, place = take_place(options)
    index = chosen(turns, place["plays"], actions)
    place["calls"] = actions.call = place["calls"] + 1
    place["plays"][str(index)] = place["plays"].get(str(index), 0) + 1
    # Saved before the turn runs, so that a turn that crashes counts as played.
    for name in (session, "one-place") if options.one_place else (session,):
        write_place(place_file(state_folder(options.state), name), place)
    keep_transcript(options, session, prompt)
    record(options, session, prompt, index + 1)
    actions.emit("session", session_id=session, model=options.model, version="1")
    play(turns[index], actions, index + 1)
    note(options, "answered", turn=index + 1)


def keep_transcript(options: argparse.Namespace, session: str, prompt: str) -> None:
    """Append the prompt to the transcript of the session."""
    path = place_file(state_folder(options.state), session).removesuffix(".json")
    with open(f"{path}.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps({"prompt": prompt}) + "\n")


def note(options: argparse.Namespace, event: str, **fields: object) -> None:
    """Append a line to the call log: at the start of a call, before the prompt is read, and after the answer."""
    if options.call_log:
        with open(options.call_log, "a", encoding="utf-8") as log:
            line = {"event": event, "call": CALL, "pid": os.getpid(), "at": time.time(), **fields}
            log.write(json.dumps(line) + "\n")


def record(options: argparse.Namespace, session: str, prompt: str, turn: int) -> None:
    """Append the request of this call to the log."""
    if not options.log:
        return
    fields = {"session_id": session, "turn": turn, "prompt": prompt, "system_prompt": options.system_prompt}
    fields |= {
        "resume": options.resume,
        "fork": options.fork,
        "call": CALL,
        "pid": os.getpid(),
        "alone": is_alone(options.log),
    }
    with open(options.log, "a", encoding="utf-8") as file:
        file.write(json.dumps(fields) + "\n")


def is_alone(path: str) -> bool:
    """Whether no other call with this log is running. The file lock is held until this process ends."""
    try:
        import fcntl
    except ImportError:
        return True
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def options_from(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripted", description="An agent that plays a script.", allow_abbrev=False)
    parser.add_argument("--script", default="", help="a JSON file, a list of turns (or UNTILDONE_SCRIPT)")
    parser.add_argument("--scenario", choices=SCENARIOS, help="a built-in script (truthful)")
    parser.add_argument("--claims-on", type=int, help="in a scenario: the call that claims, 0 for none")
    parser.add_argument(
        "--seconds", type=float, help="in a scenario: seconds to sleep, until a limit resets, or for children to live"
    )
    parser.add_argument("--bytes", type=int, default=50_000_000, help="in the scenario flood: number of bytes")
    parser.add_argument("--claim", default="", help="the text of a claim, instead of the one that the prompt asks for")
    parser.add_argument("--one-place", action="store_true", help="all sessions share one position in the script")
    parser.add_argument(
        "--log", default="", help="a file to which each call appends its request and whether another call was running"
    )
    parser.add_argument(
        "--call-log", default="", help="a file to which each call appends the times of its start and its answer"
    )
    parser.add_argument("--state", default="", help="folder of the session files (or UNTILDONE_SCRIPT_STATE)")
    for name in ("session", "resume", "system-prompt", "model", "permissions"):
        parser.add_argument(f"--{name}", default="", help=argparse.SUPPRESS)
    parser.add_argument("--fork", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        take_turn(options_from(sys.argv[1:]))
    except (ScriptError, OSError) as reason:
        print(f"scripted: {reason}.", file=sys.stderr)
        leave(2)


if __name__ == "__main__":
    main()
