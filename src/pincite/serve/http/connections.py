"""Connections: one that does not send its request in time ends, and so does the oldest such when there are too many."""

from __future__ import annotations

import asyncio
import json
import socket

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from pincite.serve.http.errors import Refusal
from pincite.serve.http.options import ServeOptions

_REST_SECONDS = 0.5  # for what is left of a body that nobody reads


class Connection(H11Protocol):
    """uvicorn's connection with a deadline for the head of each request."""

    options = ServeOptions()
    since = 0.0  # when its last request was over, or it began
    _timer: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether it is the client's turn: for the head of a request, or the rest of its body."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait; when there are too many, the connection that has waited longest ends."""
        super().connection_made(transport)
        # asyncio does so only for sockets that name TCP; else the second part of an answer waits 40 ms for the client's
        # word that it has the first.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.since = self.loop.time()
        self._look()
        if len(self.connections) > self.options.connections:
            waiting = [c for c in self.connections if isinstance(c, Connection) and c.waits]
            min(waiting, key=lambda connection: connection.since).late()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._forget()

    def data_received(self, data: bytes) -> None:
        """Take data in."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Begin to wait again."""
        super().on_response_complete()
        self.since = self.loop.time()
        if self.conn.their_state is h11.SEND_BODY:
            self._look()

    def late(self) -> None:
        """End a connection that waits for a request."""
        self._forget()
        if self.transport.is_closing():
            return
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self._refuse(Refusal(408, "too_slow", "The request did not come in time.", "Send it again, quicker."))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP in the form of every error."""
        self._refuse(Refusal(400, "bad_request", "This is no HTTP request.", "Send a valid one."))

    def _look(self) -> None:
        """Let the deadline run while a request is waited for, and only then."""
        waits = self.cycle is None or self.cycle.response_complete
        if not waits or self.transport.is_closing():
            self._forget()
        elif self._timer is None:
            rest = self.conn.their_state is h11.SEND_BODY  # of a request that was answered already
            self._timer = self.loop.call_later(_REST_SECONDS if rest else self.options.head_seconds, self.late)

    def _forget(self) -> None:
        """Let the deadline go."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, refusal: Refusal) -> None:
        """Answer below HTTP's state machine, and end."""
        body = json.dumps(refusal.shape()).encode()
        head = f"HTTP/1.1 {refusal.status_code} \r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()
