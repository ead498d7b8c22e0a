"""What we use of the library's connections over TCP, TLS and unix sockets, with types."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

Word: TypeAlias = str | bytes | int
Reply: TypeAlias = "bytes | int | list[Reply] | None"


class RedisWire(Protocol):
    """A connection that sends words and reads replies, in order."""

    @property
    def is_connected(self) -> bool: ...

    async def connect(self) -> None: ...

    async def on_connect(self) -> None:
        """Authenticate, name the client and select the database."""
        ...

    async def disconnect(self, nowait: bool = False) -> None: ...  # noqa: FBT001, FBT002 - the library's signature

    async def send_command(self, *words: Word, check_health: bool) -> None: ...

    async def read_response(self, *, timeout: float | None = None) -> Reply:  # noqa: ASYNC109 - the library's signature
        """Return the next reply; None if a timeout in seconds was given and has passed."""
        ...

    async def can_read(self) -> bool:
        """Tell whether there is something to read, the end included."""
        ...


Greet: TypeAlias = Callable[[RedisWire], Awaitable[None]]
