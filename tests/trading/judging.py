"""A judge of a trading folder with nothing but SQLite and arithmetic: none of the code that wrote it."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

FINAL = {"ACKED", "REJECTED", "NOT_SENT", "NOT_PLACED"}
OPEN = {"PENDING_NEW", "NEW", "PARTIALLY_FILLED"}
TABLES = ("event", "intent", "used", "paper_order", "paper_fill", "paper_account")
DAY_MS = 86_400_000

Row = dict[str, Any]


def judge(file: Path, start: Mapping[str, Decimal], pairs: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return everything that is wrong: no intent without an end, journal and exchange of one mind, money adds up."""
    tables = _tables(file)
    return [*_wrong(tables, tables["paper_order"]), *_money(tables, start, pairs)]


def judge_against(file: Path, orders: list[Row]) -> list[str]:
    """Return what is wrong with a journal, the exchange elsewhere having these orders."""
    return _wrong(_tables(file), orders)


def state_in(file: Path) -> str:
    """Return how the only order of a journal stands, "" where there is none."""
    return " ".join(f"{each['state']} {each['status']}".strip() for each in _tables(file)["intent"])


def _tables(file: Path) -> dict[str, list[Row]]:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
        tables = {name: _rows(db.execute(f"SELECT * FROM {name}")) for name in TABLES}  # noqa: S608 - names of ours
    db.close()
    return tables


def _rows(cursor: sqlite3.Cursor) -> list[Row]:
    names = [each[0] for each in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _wrong(tables: Mapping[str, list[Row]], orders: list[Row]) -> list[str]:
    return [
        *_chain(tables["event"]),
        *_lost(tables["intent"]),
        *_disagreements(tables["intent"], orders),
        *_states(tables["intent"], tables["event"]),
        *_counted(tables["intent"], tables["used"]),
    ]


def doubles(sends: Path) -> list[str]:
    """Return the orders that were sent more than once, from what the wire has seen."""
    return sent_twice(sends.read_text().split() if sends.exists() else [])


def sent_twice(sends: Iterable[str]) -> list[str]:
    seen = Counter(sends)
    return [f"double: {name} was sent {times} times" for name, times in seen.items() if times > 1]


def _chain(events: list[Row]) -> Iterator[str]:
    prev = "0" * 64
    for seq, each in enumerate(sorted(events, key=lambda row: row["seq"]), 1):
        told = [seq, prev, each["at_ms"], each["about"], each["state"], each["facts"]]
        if each["hash"] != sha256(json.dumps(told).encode()).hexdigest():
            yield f"chain: event {each['seq']} does not follow"
        prev = each["hash"]


def _lost(intents: list[Row]) -> Iterator[str]:
    for each in intents:
        if each["state"] not in FINAL:
            yield f"lost: {each['client_order_id']} is {each['state']}"


def _disagreements(intents: list[Row], orders: list[Row]) -> Iterator[str]:
    by_name = {(each["account"], each["client_order_id"]): each for each in orders}
    for each in intents:
        order = by_name.pop((each["account"], each["client_order_id"]), None)
        name = f"disagree: {each['client_order_id']} is {each['state']} {each['status']} {each['executed']}"
        if order is None:
            if each["state"] == "ACKED":
                yield f"{name}, the exchange has none"
        elif each["state"] == "REJECTED":
            if order["status"] != "REJECTED":
                yield f"{name}, the exchange says {order['status']}"
        elif each["state"] != "ACKED":
            yield f"{name}, the exchange has it"
        else:
            journal = each["status"], Decimal(each["executed"]), Decimal(each["spent"])
            exchange = order["status"], Decimal(order["executed"]), Decimal(order["spent"])
            if journal != exchange:
                yield f"{name}, the exchange says {exchange}"
            if (each["final_ms"] is None) != (order["status"] in OPEN):
                yield f"{name}, open in one place only"
    for _, name in by_name:
        yield f"disagree: the exchange has {name}, the journal has none"


def _states(intents: list[Row], events: list[Row]) -> Iterator[str]:
    """An intent stands as its last event says: the table and the chain were written together."""
    states = FINAL | {"PREPARED", "SENT", "UNKNOWN"}
    for each in intents:
        own = [event["state"] for event in events if event["about"] == each["id"] and event["state"] in states]
        if own[:1] != ["PREPARED"] or own[-1:] != [each["state"]]:
            yield f"chain: {each['client_order_id']} is {each['state']}, its events are {own}"


def _counted(intents: list[Row], used: list[Row]) -> Iterator[str]:
    """What counts for a day: all of what may stand, of what is over the part that was executed, rounded up."""
    sums: Counter[tuple[str, str, int]] = Counter()
    for each in intents:
        day = each["prepared_ms"] // DAY_MS
        taken = _taken(each)
        sums[each["account"], "per_day", day] += taken
        sums[each["account"], f"per_symbol_day:{each['symbol']}", day] += taken
        sums[each["account"], "orders_per_day", day] += 1
        quantity = Decimal(each["quantity"])
        true = Decimal(each["counted"]) * Decimal(each["executed"]) / quantity
        if taken < true.to_integral_value(ROUND_CEILING):
            yield f"used: {each['client_order_id']} counts {taken}, {true} was executed"
    kept = {(each["account"], each["name"], each["day"]): each["amount"] for each in used}
    if kept != dict(sums):
        yield f"used: {kept}, by the intents {dict(sums)}"


def _taken(intent: Row) -> int:
    if intent["state"] in ("REJECTED", "NOT_SENT"):
        return 0
    if intent["state"] != "ACKED" or intent["final_ms"] is None:
        return intent["counted"]
    quantity, executed = Decimal(intent["quantity"]), Decimal(intent["executed"])
    unused = (quantity - executed) / quantity * intent["counted"]
    return intent["counted"] - int(unused.to_integral_value(ROUND_FLOOR))


def _money(
    tables: Mapping[str, list[Row]], start: Mapping[str, Decimal], pairs: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    """Balances are the start, plus and minus every fill, and what open orders hold back is not free."""
    for account in {each["account"] for each in tables["paper_account"]}:
        total: dict[str, Decimal] = {asset: Decimal(amount) for asset, amount in start.items()}
        locked: dict[str, Decimal] = {}
        for fill in (each for each in tables["paper_fill"] if each["account"] == account):
            base, quote = pairs[fill["symbol"]]
            sign = 1 if fill["is_buyer"] else -1
            quantity, price = Decimal(fill["quantity"]), Decimal(fill["price"])
            total[base] = total.get(base, Decimal(0)) + sign * quantity
            total[quote] = total.get(quote, Decimal(0)) - sign * quantity * price
            total[fill["commission_asset"]] -= Decimal(fill["commission"])
        for order in (each for each in tables["paper_order"] if each["account"] == account):
            filled = [each for each in tables["paper_fill"] if each["order_id"] == order["order_id"]]
            executed = sum((Decimal(each["quantity"]) for each in filled), Decimal(0))
            spent = sum((Decimal(each["quantity"]) * Decimal(each["price"]) for each in filled), Decimal(0))
            if (executed, spent) != (Decimal(order["executed"]), Decimal(order["spent"])):
                yield f"money: {order['client_order_id']} has fills of {executed} for {spent}"
            if order["status"] in OPEN:
                base, quote = pairs[order["symbol"]]
                left, is_buy = Decimal(order["quantity"]) - executed, order["side"] == "BUY"
                asset, held = (quote, left * Decimal(order["price"])) if is_buy else (base, left)
                locked[asset] = locked.get(asset, Decimal(0)) + held
        for row in (each for each in tables["paper_account"] if each["account"] == account):
            holds = locked.get(row["asset"], Decimal(0))
            expected = total.get(row["asset"], Decimal(0)) - holds, holds
            if (Decimal(row["free"]), Decimal(row["locked"])) != expected:
                yield f"money: {row['asset']} is {row['free']} and {row['locked']}, by the fills {expected}"
