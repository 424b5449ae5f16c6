"""SHA-256 and HMAC from Python's own module. Loading OpenSSL by `hashlib` takes about 3 ms, and every stop of the hook would pay for it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["Hmac", "sha256"]

_BLOCK = 64
"""Bytes of a block of SHA-256."""
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


class Hmac:
    """HMAC-SHA256 (RFC 2104) with one key. The two states that depend on the key alone are computed once."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        block = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
        self._inner = sha256(block.translate(_INNER))
        self._outer = sha256(block.translate(_OUTER))

    def digest(self, content: bytes) -> bytes:
        """The code of `content`, 32 bytes."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(content)
        outer.update(inner.digest())
        return outer.digest()
