"""Runs every command of the documents, in order, in a fresh clone with an empty home folder.

`python -m proof.newcomer` (`make newcomer`) runs all of them; `tests/test_docs.py` runs the same blocks in the working tree.
"""
