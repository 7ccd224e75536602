"""Where the service is and how patiently it is asked: what both clients are built from."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from veredicto_proto import exchange
from veredicto_proto.exchange import Part, Patience
from veredicto_proto.messages import Item


class Connection:
    """The settings of a client."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        api_key: str | None = None,
        timeout_s: float = 300.0,
        patience_s: float = 120.0,
        first_wait_s: float = 0.25,
        max_items: int = exchange.MAX_ITEMS,
        max_bytes: int = exchange.MAX_BYTES,
    ) -> None:
        """Keep the settings; nothing is connected yet.

        Args:
            url: address of the service.
            api_key: sent as a bearer token where given.
            timeout_s: seconds to wait for one answer.
            patience_s: seconds that the waits between tries of one request may sum to; 0 never tries again.
            first_wait_s: the first of these waits where the service names none; it doubles each time.
            max_items: items per request.
            max_bytes: body bytes per request.
        """
        self.patience_s = patience_s
        self.first_wait_s = first_wait_s
        self.max_items = max_items
        self.max_bytes = max_bytes
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self.http: dict[str, Any] = {
            "base_url": url,
            "headers": headers,
            "timeout": httpx.Timeout(timeout_s, connect=min(timeout_s, 10.0)),
            "trust_env": False,  # nothing leaves the network by a proxy that the environment names
        }

    def patience(self) -> Patience:
        """A fresh budget of waiting for one request."""
        return Patience(self.patience_s, self.first_wait_s)

    def parts(self, items: Sequence[Item | Mapping[str, Any]], key: str | None) -> deque[Part]:
        """A batch cut into requests, under the given idempotency key or a random one."""
        bodies = [exchange.item_body(item) for item in items]
        name = key or uuid.uuid4().hex
        return deque(exchange.split(bodies, name, max_items=self.max_items, max_bytes=self.max_bytes))
