"""A host that says one thing, whatever it is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx2
import msgspec


@dataclass
class Answering(httpx2.AsyncBaseTransport):
    """It remembers what it was asked; no key may ever come with that."""

    said: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    asked: list[str] = field(default_factory=list[str])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert "x-mbx-apikey" not in request.headers
        self.asked.append(request.url.raw_path.decode())
        body = self.said if isinstance(self.said, bytes) else msgspec.json.encode(self.said)
        return httpx2.Response(self.status, headers=self.headers, stream=httpx2.ByteStream(body))
