"""Fuzzing: runs the properties of `tests/fuzz` for a longer time with new seeds. See `docs/testing.md`."""
