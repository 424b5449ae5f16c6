"""Signs receipts: with the seal of this home, and with the person's SSH key if the settings name one."""

from __future__ import annotations

from typing import Any

from untildone.core.errors import StoreError, UsageError
from untildone.core.protection.secrets import Redactor
from untildone.core.receipts.attestation import Signature
from untildone.store.seals import Seals
from untildone.system import ssh_signing


class Signer:
    """Signs the attestations of one receipt. What cannot be done is left out: a receipt without a signature proves nothing, and says so."""

    def __init__(self, seals: Seals, signing_key: str | None) -> None:
        self._seals = seals
        self._key = signing_key
        self.problem = ""
        """Why the person's key did not sign."""

    def __call__(self, content: bytes) -> tuple[Signature, ...]:
        return (*self._sealed(content), *self._signed(content))

    def _sealed(self, content: bytes) -> tuple[Signature, ...]:
        try:
            self._seals.prepare()
        except StoreError:
            return ()
        seal = self._seals.of_receipts
        return () if seal is None else (Signature(seal.name, seal.seal(content)),)

    def _signed(self, content: bytes) -> tuple[Signature, ...]:
        if self._key is None or self.problem:
            return ()
        try:
            signature = ssh_signing.sign(self._key, content)
        except UsageError as problem:
            self.problem = problem.sentence
            return ()
        return (Signature(ssh_signing.fingerprint(signature), signature),)


def without_secrets(value: Any, redactor: Redactor) -> Any:
    """The value with secrets removed from every text; the names of fields stay."""
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, dict):
        return {name: without_secrets(each, redactor) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each, redactor) for each in value]
    return value
