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
    stands = {(each["account"], each["client_order_id"]): each for each in orders}
    known = set[tuple[str, str]]()
    for each in intents:
        own = [(each["account"], name) for name in _names(each)]
        found = [stands[name] for name in own if name in stands]
        name = f"disagree: {each['client_order_id']} is {each['state']} {each['status']} {each['executed']}"
        if _terms(each).get("amends"):
            yield from (f"{name}, {told}" for told in _unlike_change(each, found))
            continue
        known |= {*own}
        yield from (f"{name}, {told}" for told in _unlike(each, found))
    for _, name in stands.keys() - known:
        yield f"disagree: the exchange has {name}, the journal has none"


def _terms(intent: Row) -> Row:
    return json.loads(intent["terms"])


def _names(intent: Row) -> list[str]:
    """Return what its orders are called at the exchange: as itself, as those of its list, or as what it changes."""
    terms, name = _terms(intent), intent["client_order_id"]
    if terms.get("amends"):
        return [terms["replaces"]]
    if (exits := terms.get("exits")) is None:
        return [name]
    there = ("-w", exits["shape"] != "OCO"), ("-a", exits["take_profit"]), ("-b", exits["stop"])
    return [name + suffix for suffix, is_there in there if is_there]


def _unlike(intent: Row, orders: list[Row]) -> Iterator[str]:
    """Tell how an order, or each of a list, stands otherwise at the exchange than in the journal."""
    if intent["state"] == "REJECTED":
        if said := [each["status"] for each in orders if each["status"] != "REJECTED"]:
            yield f"the exchange says {', '.join(said)}"
    elif intent["state"] != "ACKED":
        if orders:
            yield "the exchange has it"
    elif not orders:
        yield "the exchange has none"
    else:
        exchange = {each["client_order_id"]: _standing(each) for each in orders}
        journal = _legs(intent) or {intent["client_order_id"]: _standing(intent)}
        if journal != exchange:
            yield f"by its orders {journal}, the exchange says {exchange}"
        if (intent["final_ms"] is None) != any(each["status"] in OPEN for each in orders):
            yield "open in one place only"
        if not _legs(intent) and Decimal(intent["quantity"]) != Decimal(orders[0]["quantity"]):
            yield f"of {intent['quantity']}, the exchange says {orders[0]['quantity']}"


def _standing(told: Row) -> tuple[str, Decimal, Decimal]:
    return told["status"], Decimal(told["executed"]), Decimal(told["spent"])


def _legs(intent: Row) -> dict[str, tuple[str, Decimal, Decimal]]:
    legs = json.loads(intent["legs"])
    return {name: (status, Decimal(executed), Decimal(spent)) for name, _, status, executed, spent in legs}


def _unlike_change(intent: Row, orders: list[Row]) -> Iterator[str]:
    """Tell whether an order was made smaller in one place only."""
    is_made = any(Decimal(each["quantity"]) == Decimal(_terms(intent)["quantity"]) for each in orders)
    if is_made != (intent["state"] == "ACKED"):
        yield f"the exchange has {'made' if is_made else 'not made'} the order smaller"


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
        quantity = Decimal(_terms(each)["quantity"])
        true = Decimal(each["counted"]) * Decimal(each["executed"]) / quantity
        if taken < true.to_integral_value(ROUND_CEILING):
            yield f"used: {each['client_order_id']} counts {taken}, {true} was executed"
    kept = {(each["account"], each["name"], each["day"]): each["amount"] for each in used}
    if kept != dict(sums):
        yield f"used: {kept}, by the intents {dict(sums)}"


def _taken(intent: Row) -> int:
    if intent["state"] in ("REJECTED", "NOT_SENT"):
        return 0
    if intent["state"] != "ACKED" or not _is_settled(intent):
        return intent["counted"]
    quantity, executed = Decimal(_terms(intent)["quantity"]), Decimal(intent["executed"])
    unused = (quantity - executed) / quantity * intent["counted"]
    return intent["counted"] - int(unused.to_integral_value(ROUND_FLOOR))


def _is_settled(intent: Row) -> bool:
    """Whether what was traded cannot grow: of a list with an entry that is so once the entry is over."""
    entry = [status for name, (status, *_) in _legs(intent).items() if name.endswith("-w")]
    return entry[0] not in OPEN if entry else intent["final_ms"] is not None


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
