"""Program behind `scripts/capture`: asks an exchange, read-only, and writes what it answered, sanitised.

    scripts/capture --out FOLDER                      from the offline simulator, started for this
    scripts/capture --out FOLDER --live mainnet       from Binance; public answers need no key

With BINANCE_API_KEY and its secret in the environment the account is read too, unless the key can trade or withdraw.
Every request is a GET of the table of endpoints, sent by our own client within its budget of request weight.
"""

import argparse
import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import msgspec

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.dialing import NetworkDialer, StreamConnection
from mcp_binance_server.exchange.endpoints import Network, host_of
from mcp_binance_server.exchange.futures.stream_wire import LIQUIDATIONS_PATH
from mcp_binance_server.exchange.spot.account import TELLS_RIGHTS, AccountClient, read_key_rights
from mcp_binance_server.settings import read_settings, surroundings
from mcp_binance_server.startup_checks import credentials_of, network_of
from mcp_binance_server.tls.trust_store import client_context
from mcp_binance_server.upstream import Upstream, opened_upstream
from support.captured.doors import DOORS, STREAMS, Door
from support.captured.files import Answer, CapturedFile, Header, asked_with
from support.captured.sanitising import Sanitiser

MOST_ROWS, MOST_SYMBOLS, MOST_FRAMES = 20, 5, 3
SOURCE = "captured by scripts/capture"
SIMULATOR = "simulator"


@dataclass
class Recorder(httpx2.AsyncBaseTransport):
    """Keeps the last body of each path; a request that is no GET does not leave."""

    inner: httpx2.AsyncBaseTransport
    kept: dict[str, tuple[httpx2.URL, bytes]] = field(default_factory=dict[str, tuple[httpx2.URL, bytes]])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "GET":
            raise httpx2.UnsupportedProtocol(f"{request.method} is not read-only")
        response = await self.inner.handle_async_request(request)
        body = await response.aread()
        if response.is_success:
            self.kept[request.url.path] = (request.url, body)
        return httpx2.Response(response.status_code, headers=response.headers, stream=httpx2.ByteStream(body))

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass
class Capture:
    """One run: where to, from which network, and what it could not get."""

    folder: Path
    network: str
    day: str
    sanitiser: Sanitiser
    missed: list[str] = field(default_factory=list[str])
    written: list[Path] = field(default_factory=list[Path])

    def keep(self, name: str, request: str, host: str, answers: Iterable[tuple[Mapping[str, Any], Any]]) -> None:
        """Write answers that are sanitised already."""
        cut = [(params, trimmed(body)) for params, body in answers]
        source = f"{SOURCE}, from the offline simulator" if self.network == SIMULATOR else SOURCE
        header = Header(
            name=name,
            request=request,
            host=host,
            network=self.network,
            captured=self.day,
            source=source,
            sanitised=True,
            trimmed=any(is_cut for _, (_, is_cut) in cut),
        )
        rows = [Answer(dict(params), msgspec.Raw(_encoded(body))) for params, (body, _) in cut]
        for row in rows:
            self.sanitiser.check(msgspec.json.encode(row))
        self.written.append(CapturedFile(header, rows).write(self.folder))

    async def read_doors(self, up: Upstream, recorder: Recorder, *, has_account: bool) -> None:
        for name, door in DOORS.items():
            if door.signed and not has_account:
                continue
            try:
                await door.ask(up, self._params(name, door, recorder))
            except (AppError, KeyError) as error:
                self.missed.append(f"{name}: {error.message if isinstance(error, AppError) else 'no order to ask for'}")
                continue
            url, body = recorder.kept[door.call.path]
            read = json.loads(body)
            clean = self.sanitiser.private(read) if door.signed else self.sanitiser.public(read)
            params = self.sanitiser.private(dict(asked_with(url.params.multi_items())))
            self.keep(name, f"GET {door.call.path}", str(url.host), [(params, clean)])

    def _params(self, name: str, door: Door, recorder: Recorder) -> Mapping[str, str | int]:
        if name != "spot.order":
            return door.params
        _, orders = recorder.kept[DOORS["spot.order_history"].call.path]
        last = cast("list[dict[str, Any]]", json.loads(orders))[-1:]
        return {"symbol": last[0]["symbol"], "origClientOrderId": last[0]["clientOrderId"]} if last else {}

    async def listen(self, network: Network, seconds: float) -> None:
        """Keep the first events of each public stream."""
        frames: dict[str, list[Any]] = {name: [] for name in STREAMS}
        named = {door.stream: name for name, door in STREAMS.items() if "@" in door.stream and door.side == "spot"}
        async with anyio.create_task_group() as tasks:
            if network.stream_url:
                url = f"{network.stream_url}/stream?streams={'/'.join(named)}"
                tasks.start_soon(_heard, url, seconds, partial(_sorted_in, frames, named))
            if network.futures_stream_url:
                url = f"{network.futures_stream_url}{LIQUIDATIONS_PATH}"
                tasks.start_soon(_heard, url, seconds, frames["stream.liquidation"].append)
        for name, found in frames.items():
            door = STREAMS[name]
            host = network.futures_stream_url if door.side == "futures" else network.stream_url
            if found and host:
                events: list[tuple[dict[str, Any], Any]] = [
                    ({}, self.sanitiser.public(each)) for each in found[:MOST_FRAMES]
                ]
                self.keep(name, door.stream, host_of(host), events)
            elif not name.startswith("user."):
                self.missed.append(f"{name}: no event in {seconds:g} s")


def trimmed(body: Any) -> tuple[Any, bool]:  # noqa: ANN401 - JSON
    """Cut the rows of an answer; return whether there were more."""
    if isinstance(body, list):
        rows = cast("list[Any]", body)
        return rows[:MOST_ROWS], len(rows) > MOST_ROWS
    if isinstance(body, dict) and "symbols" in body:
        members = cast("dict[str, Any]", body)
        return {**members, "symbols": members["symbols"][:MOST_SYMBOLS]}, len(members["symbols"]) > MOST_SYMBOLS
    return cast("Any", body), False


def _encoded(body: Any) -> bytes:  # noqa: ANN401 - JSON
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _sorted_in(frames: dict[str, list[Any]], named: Mapping[str, str], frame: dict[str, Any]) -> None:
    if name := named.get(str(frame.get("stream", ""))):
        frames[name].append(frame["data"])


async def _heard(url: str, seconds: float, keep: Callable[[Any], None]) -> None:
    try:
        connection: StreamConnection = await NetworkDialer().connect(url)
    except OSError:
        return
    with anyio.move_on_after(seconds):
        try:
            while True:
                keep(json.loads(await connection.recv()))
        except OSError:
            pass
    await connection.close()


async def _may_read(up: Upstream) -> str:
    """Return why the account is not read; empty if it may be."""
    if up.principal is None:
        return "no key is set"
    if up.caller.network.name != TELLS_RIGHTS or up.caller.network.simulated:
        return ""  # play money: no host tells the rights of these keys
    rights = await read_key_rights(AccountClient(up.caller, up.principal))
    return "the key is not read-only" if rights.dangers or rights.spot_trading else ""


async def capture(environment: Mapping[str, str], network: str, folder: Path, seconds: float) -> Capture:
    """Ask for everything in the tables of parsers, and write it."""
    settings = read_settings(environment)
    credentials = credentials_of(settings)
    own = [credentials.api_key, credentials.secret] if credentials else []
    factor = Decimal(secrets.randbelow(700) + 200) / 1000
    day = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC).date().isoformat()
    run = Capture(folder, network, day, Sanitiser(own, factor=factor))
    recorder = Recorder(httpx2.AsyncHTTPTransport(verify=client_context()))
    async with opened_upstream(settings, transport=recorder) as up:
        reason = await _may_read(up)
        if reason:
            print(f"The account is not read: {reason}.", file=sys.stderr)  # noqa: T201 - a person reads it
        await run.read_doors(up, recorder, has_account=not reason)
        await run.listen(network_of(settings), seconds)
        used = await up.caller.budget.used()
        print(f"{used} of {up.caller.budget.limit} of this minute's spot request weight used.", file=sys.stderr)  # noqa: T201
    return run


@contextmanager
def simulated() -> Generator[dict[str, str]]:
    """Start the offline exchange; yield the environment of a client of it."""
    command = [sys.executable, "-m", "mcp_binance_server", "simulator", "--port", "0", "--seed", "7"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        try:
            yield {
                "BINANCE_REST_URL": told["rest"],
                "BINANCE_STREAM_URL": told["streams"],
                "BINANCE_FUTURES_REST_URL": told["futures_rest"],
                "BINANCE_FUTURES_STREAM_URL": told["futures_streams"],
                "BINANCE_API_KEY": told["api_key"],
                "BINANCE_SECRET_KEY": told["secret_key"],
            }
        finally:
            process.terminate()


def main(arguments: list[str] | None = None) -> int:
    """Run the program; return 1 where an answer is missing."""
    parser = argparse.ArgumentParser(prog="scripts/capture", description=__doc__, formatter_class=_RAW)
    parser.add_argument("--live", choices=["mainnet", "testnet", "demo"], help="ask this network of Binance")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the files are written")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long streams are listened to (default: 5)")
    options = parser.parse_args(arguments)
    try:
        if options.live:
            around = {**surroundings(), "BINANCE_NETWORK": options.live}
            done = anyio.run(capture, around, options.live, options.out, options.seconds)
        else:
            with simulated() as environment:
                done = anyio.run(capture, environment, SIMULATOR, options.out, options.seconds)
    except AppError as error:
        print(error.message, file=sys.stderr)  # noqa: T201 - a person reads it
        return 2
    for line in done.missed:
        print(f"not captured: {line}", file=sys.stderr)  # noqa: T201 - likewise
    print(f"{len(done.written)} files in {options.out / done.network}")  # noqa: T201 - likewise
    return 1 if done.missed else 0


_RAW = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    sys.exit(main())
