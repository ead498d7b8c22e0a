"""Newcomers who send halves of requests do not keep those waiting who send whole ones."""

import anyio.lowlevel
import pytest

from mcp_binance_server.transports.http.server.reading import FirstLooks, is_whole

HEAD = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        HEAD + b"\r\n",
        HEAD + b"Content-Length: 2\r\n\r\nhi",
        HEAD + b"content-length:2\t\r\nx: y\r\n\r\nhi and more",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        HEAD + b"x: content-length: 9\r\n\r\n",
    ],
)
def test_a_whole_request_is_seen_to_be_one(data: bytes) -> None:
    assert is_whole(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"G",
        HEAD,
        HEAD + b"x-slow: ",
        HEAD + b"content-length: 3\r\n\r\nhi",
        HEAD + b"CONTENT-LENGTH: 99999999999999999999\r\n\r\nhi",
        HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n",
        HEAD + b"transfer-encoding: chunked\r\n\r\n",
    ],
)
def test_half_a_request_is_seen_to_be_one(data: bytes) -> None:
    assert not is_whole(data)


class Newcomers:
    """Those who come, and what is looked at in each round of the loop."""

    def __init__(self) -> None:
        self.looks = FirstLooks()
        self.seen: list[str] = []

    def come(self, name: str, data: bytes) -> None:
        if self.looks.is_due(data):
            self.seen.append(name)
        else:
            self.looks.wait(name, data, lambda: self.seen.append(name))

    async def rounds(self, number: int) -> list[list[str]]:
        found: list[list[str]] = []
        for _ in range(number):
            before = len(self.seen)
            await anyio.lowlevel.checkpoint()
            found.append(self.seen[before:])
        return found


def shown(token: str) -> bytes:
    return HEAD + f"Authorization: Bearer {token}\r\n\r\n".encode()


async def test_whole_requests_pass_halves_which_are_looked_at_one_in_each_round() -> None:
    newcomers = Newcomers()
    for number in range(3):
        newcomers.come(f"half {number}", HEAD)
    for token in ("ann", "ben"):
        newcomers.come(token, shown(token))
    for number in range(3):
        newcomers.come(f"unnamed {number}", HEAD + b"\r\n")

    assert newcomers.seen == ["ann", "ben", "unnamed 0", "unnamed 1", "unnamed 2"]
    assert [each for each in await newcomers.rounds(6) if each] == [["half 0"], ["half 1"], ["half 2"]]


async def test_a_token_with_a_crowd_of_connections_takes_turns_with_others() -> None:
    newcomers = Newcomers()
    for number in range(4):
        newcomers.come(f"mallory {number}", shown("mallory"))
    for number in range(2):
        newcomers.come(f"half {number}", HEAD)
    for number in range(2):
        newcomers.come(f"ann {number}", shown("ann"))

    assert newcomers.seen == ["mallory 0", "ann 0"]
    assert [each for each in await newcomers.rounds(10) if each] == [
        ["mallory 1"], ["half 0"], ["ann 1"], ["mallory 2"], ["half 1"], ["mallory 3"],
    ]  # fmt: skip


async def test_a_token_is_looked_at_at_once_again_in_the_next_round() -> None:
    newcomers = Newcomers()
    newcomers.come("first", shown("ann"))
    await newcomers.rounds(2)

    newcomers.come("second", shown("ann"))

    assert newcomers.seen == ["first", "second"]


async def test_whoever_has_sent_the_rest_or_left_is_not_looked_at_again() -> None:
    newcomers = Newcomers()
    for name in ("stays", "left", "stays"):
        newcomers.come(name, HEAD)
    newcomers.looks.drop("left")
    newcomers.looks.drop("never came")

    await newcomers.rounds(5)

    assert newcomers.seen == ["stays"]
