"""The entry point: runs a command, turns every error into one sentence with a hint, and exits with its code."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from untildone.core.errors import ResourcesShort, StoreError, UntilDoneError
from untildone.faces.cli import streams
from untildone.faces.cli.parameters import STORE
from untildone.faces.cli.signals import ignore_late_signals
from untildone.faces.cli.table import program

if TYPE_CHECKING:
    from pathlib import Path

DEFECT, USAGE, INTERRUPTED = 1, 2, 130


def enter(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    code = run(sys.argv[1:] if arguments is None else arguments)
    streams.close_quietly()
    ignore_late_signals()
    if "temporalio" in sys.modules:
        # Threads of its client crash a Python that ends while they run, after everything was done and printed.
        os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command and report its errors. Returns the exit code."""
    try:
        code = program.main(list(arguments), prog_name="untildone", standalone_mode=False)
    except UntilDoneError as error:
        streams.report_error(error.sentence, error.hint)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        streams.talk().line(error.format_message())
        return USAGE
    except click.ClickException as error:
        return _usage(error)
    except (KeyboardInterrupt, click.Abort):
        # CPython re-raises SIGINT at exit if the interrupt hit code compiled from a string, unless more such code runs.
        exec("")
        return INTERRUPTED
    except BrokenPipeError:
        return 0
    except Exception as error:
        return _shortage(error) or _read_only(error) or _defect(error)
    return code if isinstance(code, int) else 0


def _usage(error: click.ClickException) -> int:
    """Report an error of click in the form of all other errors."""
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "untildone"
    streams.report_error(" ".join(error.format_message().split()), f"`{where} --help` says what there is")
    return USAGE


def _shortage(error: Exception) -> int:
    """Report that the machine is short of something for a moment, and return the exit code; 0: it is another error."""
    is_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    short = isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
    if not (short or is_thread or isinstance(error, MemoryError)):
        return 0
    what = error.strerror if isinstance(error, OSError) else str(error) or "out of memory"
    hint = "free memory, processes or open files; `untildone resume` goes on with a loop that was at work"
    streams.report_error(f"This machine is short of resources: {what}.", hint)
    return ResourcesShort.exit_code


def _read_only(error: Exception) -> int:
    """Report that a file of untildone lies where nothing can be written, and return the exit code; 0: it is another error."""
    if not isinstance(error, OSError) or error.errno != errno.EROFS or not error.filename:
        return 0
    hint = "make the folder writable; inside of a sandbox of untildone, start no loops: do that outside"
    streams.report_error(f"Cannot write {error.filename}: Read-only file system.", hint)
    return StoreError.exit_code


def _defect(error: Exception) -> int:
    details = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    sentence = f"This is a defect of untildone, not of what you asked for: {details}"
    try:
        streams.report_error(sentence, f"please report it with the details in {_saved_traceback(error)}")
    except OSError:
        streams.report_error(sentence, "the details could not be saved: no folder can be written")
    return DEFECT


def _saved_traceback(error: Exception) -> Path:
    import tempfile
    import traceback
    from pathlib import Path

    from untildone.core.protection.secrets import Redactor

    details = "".join(traceback.format_exception(error))
    address = next((word.removeprefix("--store=") for word in sys.argv if "://" in word), "")
    redactor = Redactor.from_environment({**os.environ, **({STORE: address} if address else {})})
    content = redactor.text(f"untildone {sys.argv[1:2]}\n{details}")
    name = f"defect-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (Path.cwd() / ".loop", Path(tempfile.gettempdir())):
        if folder.is_dir() and os.access(folder, os.W_OK):
            (folder / name).write_text(content, errors="replace")
            return folder / name
    raise OSError
