"""Boards of invented pairs, with the gaps and oddities a real one may have."""

from collections.abc import Mapping
from random import Random

from mcp_binance_server.domain.board import Board, BoardField, BoardMarket

HOST = "https://board.invalid"
Row = Mapping[BoardField, str]


def board_of(*rows: Row, market: BoardMarket = "perpetual") -> Board:
    """Lay out rows, empty where one says nothing."""
    names: tuple[BoardField, ...] = tuple(dict.fromkeys(name for row in rows for name in row))
    return Board.of(market, HOST, 1_000, {name: [row.get(name, "") for row in rows] for name in names})


def random_board(seed: int, count: int = 120, market: BoardMarket = "perpetual") -> Board:
    """Draw pairs with few different values, so that many are equal, and a text missing here and there."""
    chance = Random(seed)

    def text(number: float, places: int) -> str:
        return "" if chance.random() < 0.05 else f"{number:.{places}f}"

    rows: list[dict[BoardField, str]] = []
    for number in chance.sample(range(1000), count):
        last = chance.choice((0.0001234, 1.25, 30_000.0)) * chance.choice((0.9, 1, 1.1))
        row: dict[BoardField, str] = {
            "symbol": f"C{number:03}USDT",
            "base": f"C{number:03}",
            "quote": chance.choice(("USDT", "USDT", "USDC")),
            "last": text(last, 8),
            "high": text(last * chance.choice((1, 1.02, 1.3)), 8),
            "low": text(last * chance.choice((1, 0.98, 0.7)), 8),
            "change_percent": text(chance.choice((-12.5, -5, 0, 0, 3.125, 5, 40)), 3),
            "quote_volume": text(chance.choice((0, 999_999.99, 1_000_000, 5e7)), 2),
            "trades": text(chance.choice((0, 10, 10**6)), 0),
            "bid": text(last * chance.choice((0.999, 1)), 8),
            "ask": text(last * chance.choice((1, 1.001)), 8),
        }
        if market == "perpetual":
            row |= {
                "mark": text(last * chance.choice((1, 1.0005)), 8),
                "index": text(last, 8),
                "funding": text(chance.choice((-0.0003, 0, 0.00007, 0.0001, 0.0001)), 8),
                "interval_hours": chance.choice(("8", "4", "1", "")),
                "underlying": chance.choice(("crypto", "crypto", "tradfi")),
            }
        rows.append(row)
    return board_of(*rows, market=market)
