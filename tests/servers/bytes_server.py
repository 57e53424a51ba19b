"""A server on loopback that sends any bytes, as slowly as wanted."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[[bytes], None]
Behaviour = Callable[[str, Say], None]


class Server:
    """Speaks bytes; ``behaviour`` gets what was asked and what sends."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.requests: list[str] = []
        self.sent = 0
        self.closing = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.url = f"http://{self.host}/query"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while not self.closing.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        def say(part: bytes) -> None:
            connection.sendall(part)
            self.sent += len(part)

        with connection:
            request = b""
            while b"\r\n\r\n" not in request:
                part = connection.recv(65536)
                if not part:
                    return
                request += part
            self.requests.append(request.decode())
            try:
                self.behaviour(request.decode(), say)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                return  # the client is gone

    def drip(self, head: bytes, drops: bytes, say: Say) -> None:
        """The head at once, the rest a byte at a time: longer than the deadline, not for ever."""
        say(head)
        for drop in drops:
            if self.closing.wait(0.1):
                return
            say(bytes([drop]))


def redirect(place: str, status: str = "302 Moved") -> Behaviour:
    """Send everybody elsewhere."""
    line = f"HTTP/1.1 {status}\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
    return lambda _, say: say(line.encode())


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[Server]:
    server = Server(behaviour)
    try:
        yield server
    finally:
        server.closing.set()
        server.socket.close()
