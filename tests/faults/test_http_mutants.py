"""Thousands of broken requests at a real socket: none is a fault of the server, and the next client is served."""

import pytest

from support.http_mutants import bombard, check, valid_requests
from support.process import Process
from support.product import product_code
from support.sockets import exchanged
from support.toy import toy_code

MUTANTS = 1_000
pytestmark = pytest.mark.flood
# A program that serves; its first line on standard output is the port.
PATIENCE = {"head_secs": 0.3, "reading_secs": 0.3, "idle_secs": 1}
SERVERS = {"toy": toy_code(**PATIENCE, body_secs=0.3), "product": product_code(**PATIENCE)}


@pytest.mark.night  # half a second without a byte is a refusal, which a busy machine makes of a request
@pytest.mark.timeout(900)
@pytest.mark.parametrize("server", SERVERS)
async def test_no_broken_request_is_a_fault_of_the_server(server: str, scale: int) -> None:
    mutants = scale * MUTANTS

    with Process(code=SERVERS[server], warm=True) as process:
        port = int(process.line())

        statuses = await bombard(port, mutants, seed=f"http-{server}")
        afterwards = [await exchanged(port, valid) for valid in valid_requests()]
        process.terminate()

    assert statuses.total() == mutants
    assert min(statuses[status] for status in (None, 200, 400, 415, 421)) > 5, statuses
    for answer, valid in zip(afterwards, valid_requests(), strict=True):
        assert answer.status is not None
        check(answer, valid)
    assert process.errors.read_text() == ""
