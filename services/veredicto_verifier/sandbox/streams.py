"""The judge's ends of a child's pipes: none of them ever blocks, each keeps at most its cap."""

from __future__ import annotations

import os
import select
import socket
from typing import Any, Protocol

from veredicto_verifier.sandbox.channel import FrameReader, FrameTooLarge, pack, unpack

_CHUNK = 65536


class Stream(Protocol):
    """Something to poll."""

    open: bool

    def fileno(self) -> int:
        """The file descriptor to poll."""
        ...

    def events(self) -> int:
        """The `select.poll` events it waits for; 0 for none."""
        ...

    def advance(self) -> None:
        """Do what can be done without blocking."""
        ...

    def close(self) -> None:
        """Close the file descriptor; safe to call twice."""
        ...


class Drain:
    """Reads a child's output to its end, and keeps the first `cap` bytes.

    Args:
        fd: the reading end of a pipe.
        cap: bytes kept; one byte more makes `overflowed` true.
    """

    def __init__(self, fd: int, cap: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._cap = cap
        self.open = True
        self.data = bytearray()
        self.overflowed = False

    def fileno(self) -> int:
        """The file descriptor to poll."""
        return self._fd

    def events(self) -> int:
        """Always waiting for input."""
        return select.POLLIN

    def advance(self) -> None:
        """Read one chunk."""
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self.close()
        room = self._cap - len(self.data)
        self.overflowed = self.overflowed or len(chunk) > room
        self.data += chunk[:room]

    def catch_up(self) -> None:
        """Read what has been written so far, up to the cap."""
        seen = -1
        while self.open and not self.overflowed and seen != len(self.data):
            seen = len(self.data)
            self.advance()

    def close(self) -> None:
        """Close the file descriptor; safe to call twice."""
        if self.open:
            self.open = False
            os.close(self._fd)


class Feed:
    """Writes a child's whole standard input, at the speed at which it reads; a child that does not read is no error.

    Args:
        fd: the writing end of a pipe.
        data: everything to write.
    """

    def __init__(self, fd: int, data: bytes) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._rest = memoryview(data)
        self.open = True
        if not data:
            self.close()

    def fileno(self) -> int:
        """The file descriptor to poll."""
        return self._fd

    def events(self) -> int:
        """Always waiting for room."""
        return select.POLLOUT

    def advance(self) -> None:
        """Write what fits; close at the end, or when the reader is gone."""
        try:
            self._rest = self._rest[os.write(self._fd, self._rest) :] if self._rest else self._rest
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._rest = self._rest[:0]
        if not self._rest:
            self.close()

    def close(self) -> None:
        """Close the file descriptor; safe to call twice."""
        if self.open:
            self.open = False
            os.close(self._fd)


class Link:
    """The judge's end of a channel: frames out, frames in.

    Args:
        end: a connected stream socket.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._reader = FrameReader()
        self._out = bytearray()
        self._frames: list[bytes] = []
        self.open = True
        self.violated = False
        """The child broke the protocol; nothing it says later counts."""

    def fileno(self) -> int:
        """The file descriptor to poll."""
        return self._socket.fileno()

    def events(self) -> int:
        """Input always, room for output when there is some to send."""
        return select.POLLIN | (select.POLLOUT if self._out else 0)

    def send(self, message: Any) -> None:
        """Queue a message."""
        self._out += pack(message)

    def hand_over(self, peer: socket.socket) -> None:
        """Give the child its copy of a socket, along with a frame that asks nothing."""
        socket.send_fds(self._socket, [pack(["peer"])], [peer.fileno()])

    @property
    def end(self) -> socket.socket:
        """The socket itself."""
        return self._socket

    @property
    def arrived(self) -> bool:
        """A message waits."""
        return bool(self._frames)

    def take(self) -> list[Any]:
        """The next message that waits.

        Raises:
            BadFrame: it is not of the agreed form.
        """
        return unpack(self._frames.pop(0))

    def advance(self) -> None:
        """Send and receive what is possible."""
        self._send_some()
        try:
            chunk = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:  # the child is gone
            chunk = b""
        if not chunk:
            self.close()
            return
        try:
            self._frames += self._reader.feed(chunk)
        except FrameTooLarge as error:
            self._frames += error.before
            self.violated = True
            self.close()

    def _send_some(self) -> None:
        # A full pipe must not keep us from reading: the child may be writing to us before it reads on.
        try:
            if self._out:
                del self._out[: self._socket.send(self._out)]
        except BlockingIOError:
            return
        except OSError:  # the child is gone; what it said before that must still be read, or timing would decide
            self._out.clear()

    def close(self) -> None:
        """Close the socket; safe to call twice."""
        self.open = False
        self._socket.close()
