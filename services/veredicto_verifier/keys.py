"""API keys: with one key made, every route but health and the empty dashboard page asks for `Authorization: Bearer`."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import Request, Response

from veredicto_verifier import problems

OPEN_PATHS = {"/", "/healthz", "/readyz"}
Next = Callable[[Request], Awaitable[Response]]


class Keys:
    """The keys of a data folder: `keys.json` maps a name to the SHA-256 of its secret.

    The service is open until the first key is made; with the last one revoked it stays closed.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "keys.json"

    def all(self) -> dict[str, str]:
        """Name to digest.

        Raises:
            ValueError: the file is not what this class writes.
        """
        if not self._path.exists():
            return {}
        loaded: dict[str, str] = json.loads(self._path.read_text(encoding="utf-8"))
        return loaded

    @property
    def asked_for(self) -> bool:
        """Whether a key is needed at all."""
        return self._path.exists()

    def create(self, name: str) -> str:
        """Make a key and return its secret, which is kept nowhere.

        Raises:
            ValueError: there is a key of that name.
        """
        keys = self.all()
        if name in keys:
            raise ValueError(f"a key named {name!r} exists; revoke it first or take another name")
        secret = "vk_" + secrets.token_urlsafe(24)
        self._write({**keys, name: _digest(secret)})
        return secret

    def revoke(self, name: str) -> bool:
        """Forget a key; False when there is none of that name."""
        keys = self.all()
        known = keys.pop(name, None) is not None
        self._write(keys)
        return known

    def accepts(self, secret: str) -> bool:
        """Whether a secret is one of the keys, in constant time per key."""
        digest = _digest(secret)
        return sum(hmac.compare_digest(digest, known) for known in self.all().values()) > 0

    def _write(self, keys: dict[str, str]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".tmp")
        fresh.write_text(json.dumps(keys, indent=1), encoding="utf-8")
        fresh.chmod(0o600)
        fresh.replace(self._path)


def require_key(data_dir: Path) -> Callable[[Request, Next], Awaitable[Response]]:
    """The middleware that asks for a key once there is one."""
    keys = Keys(data_dir)

    async def middleware(request: Request, call_next: Next) -> Response:
        if request.url.path in OPEN_PATHS or not keys.asked_for:
            return await call_next(request)
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            detail = "send `Authorization: Bearer <key>`; `veredicto keys create NAME` makes one"
            return problems.response(401, "Key missing", detail, {"WWW-Authenticate": "Bearer"})
        try:
            known = keys.accepts(secret.strip())
        except (OSError, ValueError):
            return problems.response(503, "Keys unreadable", "keys.json cannot be read; the operator must mend it")
        if not known:
            return problems.response(403, "Key refused", "the key is not known to this service")
        return await call_next(request)

    return middleware


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
