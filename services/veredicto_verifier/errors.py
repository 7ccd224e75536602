"""Everything that can go wrong in the service, in one tree.

    VeredictoError
    ├── ServiceError                 the request gets an RFC 9457 problem document
    │   ├── MalformedRequest   400   the body is not JSON, or not the envelope of the contract
    │   ├── InvalidRequest     422   the envelope's fields have the wrong types
    │   ├── RequestTooLarge    413   body or batch over the limit
    │   ├── NotFound           404   no such pack, run or record
    │   ├── KeyReused          409   an idempotency key came back with another body
    │   ├── Overloaded         503   the queue is full, or the service is draining
    │   └── LedgerUnavailable  503   nothing is answered without a durable record
    ├── TaskFault                    the task is broken: outcome `invalid_task`
    ├── ExtractionFault              the completion holds no answer: `scored`, reward 0
    ├── PackFault                    a pack folder cannot be loaded
    ├── LedgerFault                  the ledger on disk does not verify
    ├── PluginFault                  an installed package offers a verifier that cannot join
    └── InfraFault                   our failure: outcome `infra_error`
    LimitExceeded (a BaseException)  time or memory ran out while an item was judged

A verifier raises `TaskFault` from `prepare` (from `grade` only for an author's checker that raises and that nothing
has proven), `LimitExceeded` from anywhere, and nothing else on purpose.
Whatever else escapes it is our bug and is caught in one place, the worker boundary (`worker_loop.py`).
"""

from __future__ import annotations

from typing import Literal

TaskCode = Literal[
    "task.malformed",
    "task.unknown_verifier",
    "task.unknown_ref",
    "task.spec_invalid",
    "task.unknown_fixture",
    "task.gold_failed",
    "task.gold_timeout",
    "task.gold_volatile",
    "task.empty_tests",
]
InfraCode = Literal["infra.worker_lost", "infra.starved", "infra.memory"]


class VeredictoError(Exception):
    """Root of the tree. The message says what happened and what to do."""


class ServiceError(VeredictoError):
    """A request that cannot be answered; becomes a problem document.

    Args:
        detail: what happened and what to do, for the caller.
        retry_after_s: seconds for the `Retry-After` header, if trying again can help.
    """

    status = 500
    title = "Internal error"

    def __init__(self, detail: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s


class MalformedRequest(ServiceError):
    """The body is not JSON, or its top level is not the envelope."""

    status = 400
    title = "Malformed request"


class InvalidRequest(ServiceError):
    """The envelope's own fields have wrong types or values."""

    status = 422
    title = "Invalid request"


class RequestTooLarge(ServiceError):
    """The body or the batch is over its limit."""

    status = 413
    title = "Request too large"


class NotFound(ServiceError):
    """No such pack, run or record."""

    status = 404
    title = "Not found"


class KeyReused(ServiceError):
    """The same idempotency key came with another body."""

    status = 409
    title = "Idempotency key reused"


class Overloaded(ServiceError):
    """The queue is full or the service is draining; try again later."""

    status = 503
    title = "Overloaded"


class LedgerUnavailable(ServiceError):
    """The record could not be made durable, so no verdict is given."""

    status = 503
    title = "Ledger unavailable"


class TaskFault(VeredictoError):
    """The task is broken, whoever answers it: outcome `invalid_task`.

    Args:
        code: one of the contract's closed list.
        message: what is wrong and what to do; never a gold value.
    """

    def __init__(self, code: TaskCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ExtractionFault(VeredictoError):
    """The completion holds no answer in the agreed form: `scored`, reward 0, check `extract`.

    Args:
        code: an `extract.*` reason code.
        reason: what is missing, for a person; echoes no model text.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class PackFault(VeredictoError):
    """A pack folder cannot be loaded; the message names the file and line."""


class LedgerFault(VeredictoError):
    """The ledger on disk does not verify; the message names segment, line, expected and found."""


class PluginFault(VeredictoError):
    """An installed package offers a verifier that cannot join; the message names the entry point."""


class InfraFault(VeredictoError):
    """A failure of ours while an item was judged: outcome `infra_error`, never a reward."""

    def __init__(self, code: InfraCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class LimitExceeded(BaseException):
    """An item used up its time or memory.

    A BaseException, since third-party code that runs under a verifier catches `Exception` freely.

    Args:
        what: `cpu`, `wall` or `memory`.
    """

    def __init__(self, what: Literal["cpu", "wall", "memory"]) -> None:
        super().__init__(f"{what} limit exceeded")
        self.what = what
