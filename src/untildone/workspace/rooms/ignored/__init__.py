"""Ignored files, which are in no snapshot: recorded at the start of a loop, compared with that later."""
