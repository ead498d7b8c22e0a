"""A judge of a trading folder with nothing but SQLite and arithmetic: none of the code that wrote it."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
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
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
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
    known, sizes = set[tuple[str, str]](), _sizes(intents)
    for each in intents:
        own = [(each["account"], name) for name in _names(each)]
        found = [stands[name] for name in own if name in stands]
        name = f"disagree: {each['client_order_id']} is {each['state']} {each['status']} {each['executed']}"
        if _terms(each).get("amends"):
            yield from (f"{name}, {told}" for told in _unlike_change(each, found, sizes))
            continue
        known |= {*own}
        yield from (f"{name}, {told}" for told in _unlike(each, found, sizes))
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


def _sizes(intents: list[Row]) -> dict[str, set[Decimal]]:
    """Return every quantity that an order was of, by its id: as it was placed, and as it was made smaller."""
    found: dict[str, set[Decimal]] = defaultdict(set)
    for each in intents:
        terms = _terms(each)
        if not terms.get("amends"):
            found[each["client_order_id"]].add(Decimal(terms["quantity"]))
        elif each["state"] == "ACKED":
            found[terms["replaces"]].add(Decimal(terms["quantity"]))
    return found


def _unlike(intent: Row, orders: list[Row], sizes: Mapping[str, set[Decimal]]) -> Iterator[str]:
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
        if not _legs(intent):
            # An order only ever becomes smaller.
            told = Decimal(intent["quantity"]), min(sizes[intent["client_order_id"]])
            if {*told} != {Decimal(orders[0]["quantity"])}:
                yield f"of {told}, the exchange says {orders[0]['quantity']}"


def _standing(told: Row) -> tuple[str, Decimal, Decimal]:
    return told["status"], Decimal(told["executed"]), Decimal(told["spent"])


def _legs(intent: Row) -> dict[str, tuple[str, Decimal, Decimal]]:
    legs = json.loads(intent["legs"])
    return {name: (status, Decimal(executed), Decimal(spent)) for name, _, status, executed, spent in legs}


def _unlike_change(intent: Row, orders: list[Row], sizes: Mapping[str, set[Decimal]]) -> Iterator[str]:
    """Tell whether an order was made smaller in one place only; it may be smaller still by now."""
    terms = _terms(intent)
    wanted, is_known = Decimal(terms["quantity"]), intent["state"] == "ACKED"
    stands = [Decimal(each["quantity"]) for each in orders]
    is_made = any(each <= wanted if is_known else each == wanted for each in stands)
    if is_made != is_known and not (is_made and wanted in sizes[terms["replaces"]]):
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
    for each in (row for row in intents if row["purpose"] != "step"):  # a plan is counted as a whole
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
    fills: dict[int, list[Row]] = defaultdict(list)
    for fill in tables["paper_fill"]:
        fills[fill["order_id"]].append(fill)
    for account in {each["account"] for each in tables["paper_account"]}:
        total = defaultdict[str, Decimal](Decimal, start)
        locked = defaultdict[str, Decimal](Decimal)
        orders = [each for each in tables["paper_order"] if each["account"] == account]
        for order in orders:
            base, quote = pairs[order["symbol"]]
            sign = 1 if order["side"] == "BUY" else -1
            executed, spent = _traded(fills[order["order_id"]])
            total[base] += sign * executed
            total[quote] -= sign * spent
            for fill in fills[order["order_id"]]:
                total[fill["commission_asset"]] -= Decimal(fill["commission"])
            if (executed, spent) != (Decimal(order["executed"]), Decimal(order["spent"])):
                yield f"money: {order['client_order_id']} has fills of {executed} for {spent}"
        for together in _together(orders):
            yield from _unlike_list(together)
            for asset, held in _held(together, fills, *pairs[together[0]["symbol"]]):
                locked[asset] += held
        for row in (each for each in tables["paper_account"] if each["account"] == account):
            holds = locked[row["asset"]]
            expected = total[row["asset"]] - holds, holds
            if (Decimal(row["free"]), Decimal(row["locked"])) != expected:
                yield f"money: {row['asset']} is {row['free']} and {row['locked']}, by the fills {expected}"


def _traded(fills: list[Row]) -> tuple[Decimal, Decimal]:
    amounts = [(Decimal(each["quantity"]), Decimal(each["price"])) for each in fills]
    return sum((got for got, _ in amounts), Decimal(0)), sum((got * price for got, price in amounts), Decimal(0))


def _together(orders: list[Row]) -> Iterable[list[Row]]:
    """Return orders by themselves, and those of one list together."""
    found: dict[str, list[Row]] = defaultdict(list)
    for order in orders:
        found[order["list_id"] or order["client_order_id"]].append(order)
    return found.values()


def _held(together: list[Row], fills: Mapping[int, list[Row]], base: str, quote: str) -> Iterator[tuple[str, Decimal]]:
    """Return what is held back for an order, or for a list: once for those of which only one can be filled.

    Exits wait for their entry without money; what an entry of OPO or OPOCO received is kept for them meanwhile.
    """
    working = [each for each in together if each["is_entry"] or each["list_id"] is None]
    for order in (each for each in working if each["status"] in OPEN):
        yield _need(order, base, quote)
        if (order["shape"] or "").startswith("OPO"):
            own = fills.get(order["order_id"], [])
            yield base, _traded(own)[0] - sum((Decimal(each["commission"]) for each in own), Decimal(0))
    exits = [each for each in together if each not in working and each["status"] in OPEN]
    if started := [each for each in exits if not working or each["status"] != "PENDING_NEW"]:
        yield max(_need(each, base, quote) for each in started)


def _need(order: Row, base: str, quote: str) -> tuple[str, Decimal]:
    left = Decimal(order["quantity"]) - Decimal(order["executed"])
    return (quote, left * Decimal(order["price"])) if order["side"] == "BUY" else (base, left)


def _unlike_list(together: list[Row]) -> Iterator[str]:
    """Tell where orders of a list stand as they cannot together."""
    entries = [each for each in together if each["is_entry"]]
    exits = [each for each in together if each["list_id"] is not None and not each["is_entry"]]
    name = f"list: {together[0]['list_id']}"
    if len([each for each in exits if Decimal(each["executed"]) or each["triggered"]]) > 1:
        yield f"{name}, two exits went on"
    if len({each["status"] in OPEN for each in exits}) > 1 and not any(
        Decimal(each["executed"]) or each["triggered"] for each in exits
    ):
        yield f"{name}, one exit is open without the other"
    for entry in entries:
        said = {each["status"] for each in exits}
        if entry["status"] in OPEN and said != {"PENDING_NEW"}:
            yield f"{name}, the entry is {entry['status']} and its exits are {said}"
        if entry["status"] not in OPEN and entry["status"] != "FILLED" and said & OPEN:
            yield f"{name}, the entry is {entry['status']} and its exits are {said}"
        if entry["status"] == "FILLED" and "PENDING_NEW" in said:
            yield f"{name}, the entry is filled and its exits wait"
