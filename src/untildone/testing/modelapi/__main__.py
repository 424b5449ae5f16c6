"""`python -m untildone.testing.modelapi --script F [--port N] [--log F]`: prints its address in the first line."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from untildone.core.errors import UntilDoneError, UsageError
from untildone.testing.modelapi.script import read_script
from untildone.testing.modelapi.server import ModelAPI


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        with _server(given.script, given.port, given.log) as api:
            # Handlers come first: the caller may send a signal as soon as it has read the address.
            ended = _end_signal()
            print(api.url, flush=True)
            ended.wait()
    except UntilDoneError as problem:
        print(problem.sentence, *([f"hint: {problem.hint}"] if problem.hint else []), sep="\n", file=sys.stderr)
        return problem.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m untildone.testing.modelapi", description="A scripted model API on loopback."
    )
    parser.add_argument("--script", type=Path, required=True, help="a JSON file with a list of steps")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (any free one)")
    parser.add_argument("--log", type=Path, help="a file to which every request is appended, one JSON object a line")
    return parser


def _server(script: Path, port: int, log: Path | None) -> ModelAPI:
    steps = read_script(script)
    try:
        return ModelAPI(steps, port=port, log=log)
    except (OSError, OverflowError) as problem:
        raise UsageError(f"Port {port} cannot be used: {problem}.", "leave --port out to get a free one") from problem


def _end_signal() -> threading.Event:
    """An event that SIGINT and SIGTERM set."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    return ended


if __name__ == "__main__":
    sys.exit(main())
