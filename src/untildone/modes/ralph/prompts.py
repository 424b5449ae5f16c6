"""The parts of the worker's prompts in the mode ralph."""

from __future__ import annotations

HOW_TO_CLAIM = (
    "When the task is completely done, and only then, end your final message with {promise} alone on its last line, outside code "
    "and quotation marks, without a colon above it. If it is not done, say what is missing and go on."
)
DID_NOT_COUNT = "Your last message contains {words}, but it did not count: it must stand alone on the last line."
