"""SHA-256 without OpenSSL gives what hashlib gives."""

from __future__ import annotations

import hashlib

import pytest

from untildone.core.digest import sha256


@pytest.mark.parametrize("content", [b"", b"untildone", bytes(range(256)) * 1000])
def test_it_is_the_digest_of_hashlib(content: bytes) -> None:
    assert sha256(content).hexdigest() == hashlib.sha256(content).hexdigest()
    updated = sha256()
    updated.update(content)
    assert updated.digest() == hashlib.sha256(content).digest()
