"""A board from what the exchange answered, and its packing for other processes."""

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

# Twice as small as nothing at all, and three times as quick as the usual level.
QUICK = 1


class PackedBoard(msgspec.Struct, array_like=True, frozen=True):
    """A board as processes hand it on, with when it was asked for and made by the engine's time."""

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
    """A board, who answered, and when it was asked for and made by the engine's time."""

    board: Board
    origin: Origin
    asked_ms: int
    made_ms: int


async def packed(opened: OpenBoard) -> bytes:
    """Pack a board beside the loop."""
    return await anyio.to_thread.run_sync(pack, opened)


async def unpacked(content: bytes) -> OpenBoard:
    """Open a packed board beside the loop."""
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
    """Lay out the pairs that the list of symbols knows: what a name is made of is told there alone."""
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
    """Join three answers by symbol; a contract that is no perpetual or does not trade now is left out."""
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
    """Return the columns of another answer in the order of these symbols; empty where it has no such row."""
    rows = {symbol: place for place, symbol in enumerate(part.columns["symbol"])}
    places = [rows.get(symbol) for symbol in symbols]
    return {
        name: ["" if place is None else texts[place] for place in places]
        for name, texts in part.columns.items()
        if name != "symbol"
    }


def _hours(rule: FundingRule | None) -> str:
    # The exchange tells of those alone whose funding is not the usual one.
    return str(USUAL_FUNDING_HOURS if rule is None else rule.interval_hours)
