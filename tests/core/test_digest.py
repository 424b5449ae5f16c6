"""SHA-256 without OpenSSL gives what hashlib gives."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from untildone.core.values.digest import Hmac, sha256


@pytest.mark.parametrize("content", [b"", b"untildone", bytes(range(256)) * 1000])
def test_it_is_the_digest_of_hashlib(content: bytes) -> None:
    assert sha256(content).hexdigest() == hashlib.sha256(content).hexdigest()
    updated = sha256()
    updated.update(content)
    assert updated.digest() == hashlib.sha256(content).digest()


@pytest.mark.parametrize("key", [b"", b"k" * 32, b"k" * 64, b"k" * 65, bytes(range(256))])
@pytest.mark.parametrize("content", [b"", b"untildone", bytes(range(256)) * 1000])
def test_it_is_the_hmac_of_the_standard_library(key: bytes, content: bytes) -> None:
    code = Hmac(key)
    for _ in range(2):
        assert code.digest(content) == hmac.digest(key, content, "sha256")
