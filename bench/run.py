"""Runs all benchmarks, each compared with a baseline from the same run.

python bench/run.py [--quick] [--report FILE] [NAME …]     NAME is a file in this folder

Each benchmark runs in a separate process with a time limit. A failure or timeout is reported as a row. The exit code is 1 if
a benchmark failed or a goal was missed; missed goals are listed at the end.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import report
from figures import Result, Row, as_line, from_line, verdict

HERE = Path(__file__).parent
BENCHES = {
    "engine": 120,
    "startup": 60,
    "streams": 120,
    "wrap": 120,
    "hook": 200,
    "real_claude": 150,
    "warm": 150,
    "growth_iterations": 400,
    "growth_output": 300,
    "growth_loops": 420,
    "server": 90,
    "dashboard": 420,
    "cluster": 300,
    "store": 120,
    "rooms": 150,
    "prove": 120,
    "sandbox": 90,
    "proxy": 60,
}
"""The name of a benchmark → its time limit in seconds."""
ALL_SECONDS = 40 * 60
"""Time limit in seconds for all benchmarks; more than they need on an idle machine."""


def main(arguments: list[str]) -> int:
    chosen = _chosen(arguments)
    if chosen.inside:
        return _inside(chosen.inside, quick=chosen.quick)
    with tempfile.TemporaryDirectory() as state:
        # Snapshots of the workspaces that are measured do not stay in the person's state folder.
        os.environ["XDG_STATE_HOME"] = state
        return _measured(chosen)


def _measured(chosen: argparse.Namespace) -> int:
    began, results = time.monotonic(), dict[str, list[Result]]()
    facts = tuple(report.facts())
    print(*facts, sep="\n", flush=True)
    for name in chosen.names or BENCHES:
        print(f"\n== {name}", flush=True)
        left = ALL_SECONDS - (time.monotonic() - began)
        results[name] = list(_printed(_results_of(name, min(left, BENCHES[name]), quick=chosen.quick)))
    took = time.monotonic() - began
    if chosen.report:
        report.write(chosen.report, facts, results, quick=chosen.quick, seconds=took)
    print("", *report.summary(results, quick=chosen.quick, seconds=took), sep="\n")
    rows = (row for items in results.values() for row in items if isinstance(row, Row))
    return verdict(rows, judged=not chosen.quick)


def _chosen(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--quick", action="store_true", help="small sizes, without judging goals")
    parser.add_argument("--report", type=Path, help="also write a Markdown page with plots")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _printed(results: Iterator[Result]) -> Iterator[Result]:
    """Print each result and pass it on."""
    for item in results:
        print(report.line_of(item), flush=True)
        yield item


def _results_of(name: str, most: float, *, quick: bool) -> Iterator[Result]:
    if most < 1:
        yield Row(name, error="skipped: the time limit for all benchmarks is reached")
        return
    began = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        command = [sys.executable, *_command(name, quick=quick)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        over = threading.Timer(most, os.killpg, (process.pid, signal.SIGKILL))
        over.start()
        assert process.stdout is not None
        for line in process.stdout:
            yield from _read(line)
        code = process.wait()
        over.cancel()
        took = time.monotonic() - began
        if code:
            errors.seek(0)
            yield Row(name, error=_why(code, took, errors.read().decode(errors="replace")))


def _command(name: str, *, quick: bool) -> list[str]:
    """The command for a benchmark. A file without `rows` is run directly, and each printed line is a row."""
    text = (HERE / f"{name}.py").read_text()
    if "\ndef rows(" in text:
        return [__file__, "--inside", name, *(["--quick"] if quick else [])]
    return [str(HERE / f"{name}.py"), *(["--quick"] if quick and '"--quick"' in text else [])]


def _read(line: str) -> Iterator[Result]:
    if line.startswith('{"kind": '):
        yield from_line(line)
    elif line.strip():
        yield Row(line.rstrip())


def _why(code: int, took: float, errors: str) -> str:
    if code == -signal.SIGKILL:
        return f"not done after {took:.0f} s"
    return next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), f"exit code {code}")


def _inside(name: str, *, quick: bool) -> int:
    for result in importlib.import_module(name).rows(quick=quick):
        print(as_line(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
