"""Carry TCP connections from a published port to the verifier, which has no way out of its own network.

python3 gateway.py LISTEN_PORT TARGET_HOST TARGET_PORT

It reads nothing of what it carries. It stands in both networks, so that the verifier needs to be in one only: an
engine publishes no port of an internal network.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys

CHUNK = 64 * 1024
CONNECT_SECONDS = 10
MAX_CONNECTIONS = 512
"""Above it a connection is closed at once; the client tries again."""


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction until its end, then say so to the other side."""
    while chunk := await reader.read(CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


class Gateway:
    """Connections on their way to one target."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self._open += 1
        with contextlib.suppress(OSError, TimeoutError), contextlib.closing(writer):
            if self._open <= MAX_CONNECTIONS:
                await self._connect(reader, writer)
        self._open -= 1

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(CONNECT_SECONDS):
            answers, requests = await asyncio.open_connection(*self._target)
        with contextlib.closing(requests):
            await asyncio.gather(pump(reader, requests), pump(answers, writer))


async def main(listen: int, host: str, port: int) -> None:
    """Listen until SIGTERM."""
    server = await asyncio.start_server(Gateway(host, port).carry, "0.0.0.0", listen)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
