"""Boards built from answers of the exchange, and their encoding for other processes."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio.to_thread
import msgspec

from mcp_binance_server.domain.board import Board, BoardField, BoardMarket
from mcp_binance_server.domain.derivatives import USUAL_FUNDING_HOURS, ContractTable, FundingRule
from mcp_binance_server.domain.market import Origin
from mcp_binance_server.domain.symbols import Symbol, SymbolTable
from mcp_binance_server.exchange.board_part import BoardPart

# Compression level: half the size of no compression, and three times as fast as the default level.
QUICK = 1


class PackedBoard(msgspec.Struct, array_like=True, frozen=True):
    """A board in transfer between processes, with the engine's time at the request and at the result."""

    market: BoardMarket
    host: str
    origin: Origin
    at_ms: int
    asked_ms: int
    made_ms: int
    count: int
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class OpenBoard:
    """A board and its origin, with the engine's time at the request and at the result."""

    board: Board
    origin: Origin
    asked_ms: int
    made_ms: int


async def packed(opened: OpenBoard) -> bytes:
    """Pack a board in a thread."""
    return await anyio.to_thread.run_sync(pack, opened)


async def unpacked(content: bytes) -> OpenBoard:
    """Unpack a board in a thread."""
    return await anyio.to_thread.run_sync(unpack, content)


def pack(opened: OpenBoard) -> bytes:
    board = opened.board
    kept = PackedBoard(
        board.market,
        board.host,
        opened.origin,
        board.at_ms,
        opened.asked_ms,
        opened.made_ms,
        board.count,
        {**board.fields},
    )
    return zlib.compress(msgspec.msgpack.encode(kept), QUICK)


def unpack(content: bytes) -> OpenBoard:
    kept = msgspec.msgpack.decode(zlib.decompress(content), type=PackedBoard)
    board = Board(kept.market, kept.host, kept.at_ms, kept.count, kept.fields)
    return OpenBoard(board, kept.origin, kept.asked_ms, kept.made_ms)


def spot_board(part: BoardPart, table: SymbolTable) -> Board:
    """Return a board of the pairs in the symbol list. Only the list knows the assets in a symbol's name."""
    symbols = part.columns["symbol"]
    listed = [(place, rules) for place, each in enumerate(symbols) if (rules := table.find(each)) is not None]
    columns = _chosen(part, [place for place, _ in listed])
    columns["base"] = [rules.base for _, rules in listed]
    columns["quote"] = [rules.quote for _, rules in listed]
    columns["tick"] = [f"{rules.tick:f}" for _, rules in listed]
    return Board.of("spot", part.host, part.at_ms, columns)


def perpetual_board(
    days: BoardPart,
    premiums: BoardPart,
    quotes: BoardPart,
    table: ContractTable,
    rules: Mapping[Symbol, FundingRule],
) -> Board:
    """Join three answers by symbol. Contracts that are not perpetuals or do not trade now are left out."""
    listed = [
        (place, contract)
        for place, each in enumerate(days.columns["symbol"])
        if (contract := table.contracts.get(Symbol(each))) is not None and contract.is_perpetual and contract.is_trading
    ]
    columns = _chosen(days, [place for place, _ in listed])
    for part in (premiums, quotes):
        columns |= _beside(columns["symbol"], part)
    columns["base"] = [contract.base for _, contract in listed]
    columns["quote"] = [contract.quote for _, contract in listed]
    columns["tick"] = [f"{contract.tick:f}" for _, contract in listed]
    columns["underlying"] = [contract.underlying for _, contract in listed]
    columns["interval_hours"] = [_hours(rules.get(contract.symbol)) for _, contract in listed]
    at_ms = min(part.at_ms for part in (days, premiums, quotes))
    return Board.of("perpetual", days.host, at_ms, columns)


def _chosen(part: BoardPart, places: Sequence[int]) -> dict[BoardField, list[str]]:
    return {name: [texts[place] for place in places] for name, texts in part.columns.items()}


def _beside(symbols: Sequence[str], part: BoardPart) -> dict[BoardField, list[str]]:
    """Return the columns of another answer in the order of these symbols. Missing rows get empty texts."""
    rows = {symbol: place for place, symbol in enumerate(part.columns["symbol"])}
    places = [rows.get(symbol) for symbol in symbols]
    return {
        name: ["" if place is None else texts[place] for place in places]
        for name, texts in part.columns.items()
        if name != "symbol"
    }


def _hours(rule: FundingRule | None) -> str:
    # The exchange lists only contracts with an unusual funding interval.
    return str(USUAL_FUNDING_HOURS if rule is None else rule.interval_hours)
