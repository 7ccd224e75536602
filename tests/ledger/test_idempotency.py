"""The same key and body give the stored answer; another body does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from veredicto_verifier.errors import KeyReused, LedgerUnavailable
from veredicto_verifier.ledger.idempotency import IdempotencyStore


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def producer(*answers: bytes) -> tuple[Callable[[], Awaitable[bytes]], list[bytes]]:
    made: list[bytes] = []

    async def produce() -> bytes:
        await asyncio.sleep(0.01)
        made.append(answers[len(made)])
        return made[-1]

    return produce, made


def test_the_answer_is_kept_and_comes_back_after_a_restart(tmp_path: Path) -> None:
    produce, made = producer(b'{"record": "a"}', b"another")
    for expected in ((b'{"record": "a"}', False), (b'{"record": "a"}', True)):
        store = IdempotencyStore(tmp_path)
        assert asyncio.run(store.answer("key", "body", produce)) == expected
        store.close()
    assert len(made) == 1


def test_another_body_is_refused_also_after_a_restart_and_while_the_first_runs(tmp_path: Path) -> None:
    async def both() -> list[object]:
        return await asyncio.gather(
            store.answer("key", "body", produce), store.answer("key", "other", produce), return_exceptions=True
        )

    produce, _ = producer(b"one", b"two")
    store = IdempotencyStore(tmp_path)
    first, second = asyncio.run(both())
    store.close()
    assert first == (b"one", False)
    assert isinstance(second, KeyReused)
    store = IdempotencyStore(tmp_path)
    with pytest.raises(KeyReused, match="another body"):
        asyncio.run(store.answer("key", "other", produce))
    assert asyncio.run(store.answer("new key", "other", produce)) == (b"two", False)
    store.close()


def test_retries_while_the_first_runs_wait_for_its_answer(tmp_path: Path) -> None:
    async def many() -> list[tuple[bytes, bool]]:
        return await asyncio.gather(*(store.answer("key", "body", produce) for _ in range(20)))

    produce, made = producer(b"one", b"two")
    store = IdempotencyStore(tmp_path)
    answers = asyncio.run(many())
    store.close()
    assert made == [b"one"]
    assert answers == [(b"one", False)] + [(b"one", True)] * 19


def test_when_the_first_fails_or_is_cancelled_the_next_one_scores(tmp_path: Path) -> None:
    async def fail_then_succeed() -> tuple[object, ...]:
        async def fails() -> bytes:
            await asyncio.sleep(0.01)
            raise LedgerUnavailable("disk full")

        failing = asyncio.ensure_future(store.answer("key", "body", fails))
        await asyncio.sleep(0)
        cancelled = asyncio.ensure_future(store.answer("other", "body", fails))
        await asyncio.sleep(0)
        waiting = asyncio.ensure_future(store.answer("key", "body", produce))
        after = asyncio.ensure_future(store.answer("other", "body", produce))
        await asyncio.sleep(0)
        cancelled.cancel()
        return tuple(await asyncio.gather(failing, cancelled, waiting, after, return_exceptions=True))

    produce, _ = producer(b"one", b"two")
    store = IdempotencyStore(tmp_path)
    failed, cancelled, waited, after = asyncio.run(fail_then_succeed())
    store.close()
    assert isinstance(failed, LedgerUnavailable)
    assert isinstance(cancelled, asyncio.CancelledError)
    assert {waited, after} == {(b"one", False), (b"two", False)}


def test_an_answer_is_forgotten_after_a_day(tmp_path: Path) -> None:
    clock = Clock()
    produce, made = producer(b"one", b"two")
    store = IdempotencyStore(tmp_path, now=clock)
    assert asyncio.run(store.answer("key", "body", produce)) == (b"one", False)
    clock.now += 86_399
    assert asyncio.run(store.answer("key", "body", produce)) == (b"one", True)
    clock.now += 2
    assert asyncio.run(store.answer("key", "other body", produce)) == (b"two", False)
    store.close()
    assert made == [b"one", b"two"]


def test_old_answers_leave_the_file(tmp_path: Path) -> None:
    clock = Clock()
    secret = b"SECRET-" + bytes(range(256))
    store = IdempotencyStore(tmp_path, now=clock)
    asyncio.run(store.answer("key", "body", producer(secret)[0]))
    clock.now += 90_000
    asyncio.run(store.answer("next", "body", producer(b"one")[0]))
    store.close()
    assert b"SECRET" not in b"".join(path.read_bytes() for path in tmp_path.glob("idempotency*"))


def test_a_broken_file_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "idempotency.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(LedgerUnavailable, match="cannot be opened"):
        IdempotencyStore(tmp_path)
