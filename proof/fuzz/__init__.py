"""Fuzzing: the properties of `tests/fuzz`, tried for long with new random numbers each time. See `docs/testing.md`."""
