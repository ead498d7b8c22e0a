"""The command as a server others connect to: `--sse` and `--grpc`, each a process on a port of its own."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from grpc.aio import insecure_channel
from mcp import Client
from mcp.client.sse import sse_client

from mcp_binance_server.clock import SystemClock
from support.process import PATIENCE_SECS, Process
from support.product import announced
from support.provider import Provider
from support.requirement import requirement

pytestmark = pytest.mark.flood

# Says, when the command says that it is ready, which tools the first caller would have to wait for.
TELLING = """
import sys
from mcp_binance_server.cli.main import main

write = sys.stderr.write

def told(text):
    if text.startswith(("MCP at ", "provider.v1 on ")):
        from mcp_binance_server.surface.catalogue import CATALOGUE
        write(f"unprepared: {[spec.name for spec in CATALOGUE.tools if 'wire' not in vars(spec)]}\\n")
    return write(text)

sys.stderr.write = told
sys.exit(main([FLAG, "--port", "0"]))
"""


async def announced_by_grpc(product: Process) -> str:
    clock = SystemClock()
    for _ in range(int(PATIENCE_SECS * 20)):
        for line in product.errors.read_text(encoding="utf-8").splitlines():
            if line.startswith("provider.v1 on "):
                return line.rpartition(" ")[2]
        await clock.sleep_ms(50)
    raise AssertionError(product.errors.read_text(encoding="utf-8"))


@requirement("data-model/sse-transport")
def test_sse_serves_mcp_over_event_streams() -> None:
    async def listed(address: str) -> list[str]:
        async with Client(sse_client(f"{address}/sse"), mode="legacy", cache=None) as client:
            return [each.name for each in (await client.list_prompts()).prompts]

    with Process("--sse", "--port", "0", warm=True) as product:
        names = anyio.run(listed, anyio.run(announced, product))
        code = product.terminate()

    assert names[:2] == ["trading_analysis", "portfolio_risk"]
    assert code == 0


@requirement("data-model/grpc-transport", "ruling/30")
def test_grpc_serves_the_provider_and_not_mcp() -> None:
    async def listed(address: str) -> list[str]:
        async with insecure_channel(address) as channel:
            return [each.name for each in (await Provider(channel).capabilities()).prompts]

    with Process("--grpc", "--port", "0", warm=True) as product:
        names = anyio.run(listed, anyio.run(announced_by_grpc, product))
        code = product.terminate()

    assert names[:2] == ["trading_analysis", "portfolio_risk"]
    assert code == 0


@pytest.mark.night
@pytest.mark.parametrize(("flag", "ready"), [("--http", announced), ("--grpc", announced_by_grpc)])
def test_a_server_for_many_says_that_it_is_ready_when_no_caller_has_to_wait_for_it(
    flag: str, ready: Callable[[Process], Awaitable[str]]
) -> None:
    with Process(code=TELLING.replace("FLAG", repr(flag))) as product:
        anyio.run(ready, product)
        product.terminate()

    assert "unprepared: []\n" in product.errors.read_text(encoding="utf-8")
