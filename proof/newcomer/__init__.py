"""The newcomer: a fresh clone, an empty home, and every command of the documents, as it stands there, in order.

`python -m proof.newcomer` (`make newcomer`) does it all; `tests/test_docs.py` acts out the same blocks in the tree that it lies in.
"""
