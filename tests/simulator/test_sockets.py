"""Over a real socket: what cannot be shown inside one process."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import httpx2
import pytest
import uvicorn

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def served(exchange: SimulatedExchange) -> AsyncGenerator[httpx2.AsyncClient]:
    config = uvicorn.Config(
        build_app(exchange), lifespan="off", ws="none", log_config=None, date_header=False, server_header=False
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()[:2]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(server.serve, sockets=[listener]))
            async with httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=20) as client:
                yield client
            server.should_exit = True


async def test_a_cut_before_the_answer_is_a_lost_connection(exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="cut_before"))
    async with served(exchange) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get("/api/v3/time")

        assert (await client.get("/api/v3/time")).status_code == 200


async def test_a_cut_within_the_body_is_an_incomplete_answer(exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="cut_within"))
    async with served(exchange) as client, client.stream("GET", "/api/v3/exchangeInfo") as answer:
        chunks = answer.aiter_bytes()
        first = await anext(chunks)

        with pytest.raises(httpx2.RemoteProtocolError):
            _ = [chunk async for chunk in chunks]

        assert answer.status_code == 200
        assert 0 < len(first) < int(answer.headers["content-length"])


async def test_the_answer_has_one_date_and_the_bytes_of_the_query_arrive_as_sent(exchange: SimulatedExchange) -> None:
    async with served(exchange) as client:
        answer = await client.get("/api/v3/ticker/price?symbol=%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9FUSDT")

    assert answer.json()["symbol"] == "币安人生USDT"
    assert len(answer.headers.get_list("date")) == 1


async def test_a_loopback_client_may_control(exchange: SimulatedExchange) -> None:
    async with served(exchange) as client:
        answer = await client.post("/control/faults", json={"kind": "drip", "delay_ms": 5})
        dripped = await client.get("/api/v3/ping")

    assert (answer.json(), dripped.text) == ({"faults": 1}, "{}")
