"""A client that gives up on `server/discover` and sends `initialize`, before a cold server has read either."""

import pytest

from support.process import Process
from support.raw import INITIALIZE, request

# Nothing listens there: a server answers the handshake before it knows its exchange.
NO_EXCHANGE = {"BINANCE_REST_URL": "http://127.0.0.1:9", "BINANCE_STREAM_URL": "ws://127.0.0.1:9"}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "variables"), [("--stdio", NO_EXCHANGE), ("demo", {})])
def test_the_later_of_two_openings_is_answered(command: str, variables: dict[str, str]) -> None:
    with Process(command, environment=variables) as server:
        server.say(request(1, "server/discover", {}, modern=True), INITIALIZE)

        answer = server.answer()

    assert (answer["id"], answer["result"]["protocolVersion"]) == (0, "2024-11-05")
