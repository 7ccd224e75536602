"""One exchange with the service without any I/O: request bodies, splitting, and what an answer means.

`Client` and `AsyncClient` share all of this; they only add sockets and sleep.
"""

from __future__ import annotations

import email.utils
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from veredicto_proto.client_errors import (
    AccessRefused,
    ClientError,
    KeyConflict,
    NotThere,
    RequestRefused,
    ServiceBusy,
    ServiceFailed,
    ServiceUnreachable,
    TooLarge,
    UnexpectedAnswer,
)
from veredicto_proto.messages import Item, Phase, Problem, Result, ScoreResponse

ModelT = TypeVar("ModelT", bound=BaseModel)

MAX_ITEMS = 4096
"""Items per request that the contract allows by default."""
MAX_BYTES = 32 * 1024 * 1024
"""Body bytes per request that the contract allows by default."""
RETRIED = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed later."""
REFUSALS: dict[int, type[RequestRefused]] = {
    401: AccessRefused,
    403: AccessRefused,
    404: NotThere,
    409: KeyConflict,
    413: TooLarge,
}
HINTS: dict[int, str] = {
    401: "give the client an api_key that the service knows",
    403: "use a key with the right to do this",
    404: "check the name, and `GET /packs` for what there is",
    409: "use a new idempotency key for a new body",
    413: "send a smaller item, or raise the service's limit",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of a batch that fits into one request."""

    items: tuple[dict[str, Any], ...]
    key: str


@dataclass(slots=True)
class Patience:
    """Decides how long to wait before trying again, and when to stop trying.

    Args:
        total_s: seconds that all waits of one call may sum to.
        first_wait_s: the first wait where the service names none; it doubles up to `max_wait_s`.
    """

    total_s: float
    first_wait_s: float = 0.25
    max_wait_s: float = 30.0
    waited_s: float = field(default=0.0, init=False)
    tries: int = field(default=0, init=False)

    def wait_after(self, failure: httpx.Response | httpx.RequestError) -> float:
        """Seconds to sleep before the next try.

        Raises:
            ServiceBusy: the service answered but stayed busy for longer than `total_s`.
            ServiceUnreachable: no answer came for longer than `total_s`.
        """
        self.tries += 1
        if isinstance(failure, httpx.UnsupportedProtocol):
            raise ServiceUnreachable(f"{failure} Give an address such as http://127.0.0.1:8080")
        backoff = min(self.first_wait_s * 2 ** (self.tries - 1), self.max_wait_s)
        wait: float = max(backoff * random.uniform(0.5, 1.0), _retry_after(failure))
        if self.waited_s + wait > self.total_s:
            raise self._exhausted(failure)
        self.waited_s += wait
        return wait

    def _exhausted(self, failure: httpx.Response | httpx.RequestError) -> ClientError:
        spent = f"{self.tries} tries and {self.waited_s:.1f} s of waiting"
        if isinstance(failure, httpx.Response):
            what = _describe(failure)
            return ServiceBusy(f"the service answered {what} after {spent}; raise patience_s or its capacity")
        kind = type(failure).__name__
        return ServiceUnreachable(f"no answer from the service ({kind}: {failure}) after {spent}; is it running there?")


def item_body(item: Item | Mapping[str, Any]) -> dict[str, Any]:
    """An item as JSON types. A mapping is sent as it is, also one that the models would refuse (lone surrogates)."""
    return item.model_dump(mode="json", exclude_unset=True) if isinstance(item, Item) else dict(item)


def split(items: Sequence[dict[str, Any]], key: str, *, max_items: int, max_bytes: int) -> Iterator[Part]:
    """Cut a batch into parts that fit the limits; the same batch and key give the same parts and keys."""
    start = 0
    size = 0
    sizes = [len(encode(item)) + 1 for item in items]
    envelope = 2048  # run and step around the items; names have 256 characters at most, six bytes each when escaped
    for index, item_size in enumerate(sizes):
        if index > start and (index - start >= max_items or size + item_size > max_bytes - envelope):
            yield Part(tuple(items[start:index]), part_key(key, start, index, len(items)))
            start, size = index, 0
        size += item_size
    yield Part(tuple(items[start:]), part_key(key, start, len(items), len(items)))


def halves(part: Part) -> tuple[Part, Part]:
    """The two halves of a part that the service found too large."""
    middle = len(part.items) // 2
    return Part(part.items[:middle], part.key + ".a"), Part(part.items[middle:], part.key + ".b")


def part_key(key: str, start: int, stop: int, count: int) -> str:
    """The idempotency key of a part: the caller's own where one request holds the batch."""
    return key if (start, stop) == (0, count) else f"{key}.{start}-{stop}"


def score_body(part: Part, *, run: str | None, step: int | None, phase: Phase) -> bytes:
    """The body of `POST /score`."""
    envelope = {"run": run, "step": step, "phase": phase}
    return encode({k: v for k, v in envelope.items() if v is not None} | {"items": part.items})


def score_headers(part: Part) -> dict[str, str]:
    """The headers of `POST /score`."""
    return {"Content-Type": "application/json", "Idempotency-Key": part.key}


def present(**values: str | int | None) -> dict[str, str | int]:
    """Query parameters without those that are not given."""
    return {name: value for name, value in values.items() if value is not None}


def encode(value: Any) -> bytes:
    """JSON in ASCII, so that lone surrogates and any other text can be sent."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def parse(response: httpx.Response, model: type[ModelT]) -> ModelT:
    """The answer as a model of the contract.

    Raises:
        UnexpectedAnswer: it is something else.
    """
    try:
        return model.model_validate(json_of(response))
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        what = f"{response.url} did not answer a {model.__name__} (at {where or 'top level'})"
        raise UnexpectedAnswer(f"{what}; do client and service have the same version?") from error


def results_of(response: httpx.Response, part: Part) -> tuple[Result, ...]:
    """The verdicts of a part, one per item, each of its own item.

    Raises:
        UnexpectedAnswer: their number or ids are others than were asked for, or a reward stands beside an outcome that
            has none: a verdict of another completion must never be taken for this one's.
    """
    results = parse(response, ScoreResponse).results
    if len(results) != len(part.items):
        fault = f"{len(results)} results to {len(part.items)} items"
    elif other := [i for i, item in enumerate(part.items) if not _answers(results[i], item)]:
        fault = f"at place {other[0]} the result of another item"
    elif odd := [i for i, one in enumerate(results) if (one.outcome == "scored") != (one.reward is not None)]:
        fault = f"at place {odd[0]} outcome {results[odd[0]].outcome} with reward {results[odd[0]].reward}"
    else:
        return results
    raise UnexpectedAnswer(
        f"{response.url} answered {fault}; is something between client and service changing answers?"
    )


def _answers(result: Result, item: Any) -> bool:
    """Whether a result is that of an item: it repeats the id, but for an id that the service refused."""
    asked = item.get("id") if isinstance(item, Mapping) else None
    return result.id == asked or (result.id is None and result.reward is None)


def json_of(response: httpx.Response) -> Any:
    """The JSON of an answer.

    Raises:
        UnexpectedAnswer: it is not JSON.
    """
    try:
        return response.json()
    except ValueError as error:
        kind = response.headers.get("content-type", "no content type")
        raise UnexpectedAnswer(f"{response.url} answered {kind}, not JSON; is that the verifier service?") from error


def listed(body: Any, name: str) -> list[Any]:
    """The entries of a list route: a bare array, or an object that holds it under `name`.

    Raises:
        UnexpectedAnswer: it is neither.
    """
    entries = body.get(name) if isinstance(body, dict) else body
    if not isinstance(entries, list):
        raise UnexpectedAnswer(f"the service answered no list of {name}; do client and service have the same version?")
    return entries


def raise_for(response: httpx.Response) -> None:
    """Raise the error that a status means, if it is one.

    Raises:
        RequestRefused: any 4xx, by its kind.
        ServiceFailed: any 5xx.
        UnexpectedAnswer: a redirect or other status that the contract does not have.
    """
    status = response.status_code
    if status < 300:
        return
    what = f"{response.request.method} {response.url.path} answered {_describe(response)}"
    if 400 <= status < 500:
        hint = HINTS.get(status, "correct the request")
        raise REFUSALS.get(status, RequestRefused)(f"{what}; {hint}", _problem(response))
    if status >= 500:
        raise ServiceFailed(f"{what}; look into the service's log, then send it again")
    raise UnexpectedAnswer(f"{what}; is that the verifier service?")


def _problem(response: httpx.Response) -> Problem | None:
    try:
        return Problem.model_validate_json(response.content)
    except ValidationError:
        return None


def _describe(response: httpx.Response) -> str:
    problem = _problem(response)
    return (
        f"{response.status_code} {response.reason_phrase}"
        if problem is None
        else (f"{response.status_code} {problem.title}: {problem.detail}")
    )


def _retry_after(failure: httpx.Response | httpx.RequestError) -> float:
    """Seconds of a `Retry-After` header (a number or an HTTP date); 0 without a usable one."""
    text = failure.headers.get("retry-after", "") if isinstance(failure, httpx.Response) else ""
    if text.strip().isdecimal():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    now = datetime.now(UTC if at.tzinfo else None)
    return max((at - now).total_seconds(), 0.0)
