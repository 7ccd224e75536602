"""What can go wrong between a client and the service, as one tree.

ClientError
├── ServiceUnreachable    no answer came, also after trying again
├── ServiceBusy           429, 502, 503 or 504, also after trying again
├── RequestRefused        the request will not be answered as it is
│   ├── AccessRefused     401 or 403: no key, a wrong one, or one without the right
│   ├── NotThere          404: no such pack, run or record
│   ├── KeyConflict       409: the idempotency key was used with another body
│   └── TooLarge          413: one item alone is over the service's limit
├── ServiceFailed         any other 5xx: a fault of the service
└── UnexpectedAnswer      the answer is not the contract's
"""

from __future__ import annotations

from veredicto_proto.messages import Problem


class ClientError(Exception):
    """Root of the tree. The message says what happened and what to do."""


class ServiceUnreachable(ClientError):
    """No answer came, also after trying again."""


class ServiceBusy(ClientError):
    """The service stayed overloaded, over quota or draining for longer than the client's patience."""


class RequestRefused(ClientError):
    """The request will not be answered as it is.

    Args:
        message: what happened and what to do.
        problem: the service's problem document, if it sent one.
    """

    def __init__(self, message: str, problem: Problem | None = None) -> None:
        super().__init__(message)
        self.problem = problem


class AccessRefused(RequestRefused):
    """401 or 403."""


class NotThere(RequestRefused):
    """404."""


class KeyConflict(RequestRefused):
    """409: the idempotency key came with another body before."""


class TooLarge(RequestRefused):
    """413: the request is over the service's limit and cannot be split further."""


class ServiceFailed(ClientError):
    """A fault of the service (5xx that trying again does not help)."""


class UnexpectedAnswer(ClientError):
    """The answer is not the contract's: another program answers at that address, or the versions differ."""
