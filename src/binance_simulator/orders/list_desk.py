"""The desk for order lists: it accepts lists and releases their pending orders."""

from dataclasses import replace
from itertools import pairwise

from binance_simulator.market.listing import UNIT
from binance_simulator.orders.accounts import Account, units
from binance_simulator.orders.desk import Named, OrderDesk, afford, reject_reason
from binance_simulator.orders.engine import OTHER_BEGAN, REFUSED_LATER
from binance_simulator.orders.lists import OrderList, WantedList
from binance_simulator.orders.order import LiveOrder, Wanted
from binance_simulator.orders.records import Detail
from binance_simulator.orders.rules import check_filters, failed, not_open, rejected
from binance_simulator.refusals import Refusal

FIRST_LIST_ID = 5_200_001
BAD_PRICES = "The relationship of the prices for the orders is not correct."


class ListDesk:
    """Order lists of all accounts. The order desk holds their orders."""

    def __init__(self, desk: OrderDesk) -> None:
        self._desk = desk
        self._next_list = FIRST_LIST_ID
        desk.engine.on_release = self._release

    def usual_client_id(self) -> str:
        """Return the client ID for a list without one."""
        return f"simlist{self._next_list:019}"

    def place(self, account: Account, wanted: WantedList, now_ms: int) -> OrderList:
        """Accept a list. Its orders are matched only by `start`.

        Raises:
            Refusal: one of the orders breaks a filter or is rejected by the engine; then none is accepted.
        """
        self._check(account, wanted, now_ms)
        listed = self._numbered(account, wanted, now_ms)
        try:
            self._judge(account, listed, now_ms)
        except Refusal as refusal:
            self._reject(listed, reject_reason(refusal), now_ms)
            raise
        records = self._desk.records
        records.lists[listed.number] = listed
        for order in listed.orders:
            self._desk.accept(order)
        records.hold([order for order in listed.orders if not order.pending])
        for order in listed.orders:
            last = order is listed.orders[-1]
            records.tell(order, "NEW", now_ms, Detail(list_status=listed.status() if last else None))
        return listed

    def start(self, listed: OrderList, now_ms: int) -> None:
        """Match the orders of a new list, except pending ones."""
        for order in listed.orders:
            if order.open and not order.pending:
                self._desk.start(order, *self._desk.engine.match(order, now_ms), now_ms)
        self._desk.engine.follow_up(now_ms)

    def find(self, holder: str, number: int | None, client_id: str | None) -> OrderList | None:
        """Return a holder's list by one or both of its IDs. If several match, return the newest."""
        lists = [one for one in self._desk.records.lists.values() if one.holder == holder]
        named = [one for one in lists if number in {None, one.number} and client_id in {None, one.client_list_id}]
        return named[-1] if named else None

    def cancel(self, account: Account, named: Named, cancel_id: str, now_ms: int) -> OrderList:
        """Cancel every open order of a list.

        Raises:
            Refusal: no such list is open.
        """
        self._desk.engine.settle(now_ms)
        listed = self.find(account.holder, named.order_id, named.client_order_id)
        if listed is None or listed.done or listed.symbol.name != named.symbol:
            raise not_open()
        self._desk.engine.cancel(next(order for order in listed.orders if order.open), cancel_id, now_ms)
        return listed

    def _check(self, account: Account, wanted: WantedList, now_ms: int) -> None:
        desk, symbol = self._desk, wanted.others[0].symbol
        for place, order in enumerate(wanted.orders):
            if order.quantity:
                desk.check(account, order, now_ms, wanted.orders[:place])
        most = desk.rules(symbol).most_lists
        lists = [one for one in desk.records.lists.values() if one.holder == account.holder and not one.done]
        if most and sum(one.symbol.name == symbol.name for one in lists) >= most:
            raise failed("MAX_NUM_ORDER_LISTS")

    def _numbered(self, account: Account, wanted: WantedList, now_ms: int) -> OrderList:
        number, self._next_list = self._next_list, self._next_list + 1
        orders = [self._desk.numbered(account, order, now_ms) for order in wanted.orders]
        working = None if wanted.working is None else orders[0]
        others = tuple(orders if working is None else orders[1:])
        for order in orders:
            order.list_id = number
        if working is not None:
            for order in others:
                order.status, order.released_ms = "PENDING_NEW", -1
        return OrderList(
            number=number,
            client_list_id=wanted.client_list_id,
            contingency=wanted.contingency,
            symbol=others[0].wanted.symbol,
            holder=account.holder,
            working=working,
            others=others,
            placed_ms=now_ms,
            updated_ms=now_ms,
            pays=wanted.pays,
        )

    def _judge(self, account: Account, listed: OrderList, now_ms: int) -> None:
        desk = self._desk
        desk.judge_ids(account, [order.wanted.client_order_id for order in listed.orders])
        lists = desk.records.lists.values()
        if any(
            one.client_list_id == listed.client_list_id and one.holder == account.holder and not one.done
            for one in lists
        ):
            raise rejected("Duplicate order sent.")
        if len(listed.others) == 2:
            self._judge_prices(listed, now_ms)
        begins = [order for order in listed.orders if not order.pending]
        for order in begins:
            desk.meet(order, now_ms)
        afford(account, begins[0].wanted, max(order.needed for order in begins))

    def _judge_prices(self, listed: OrderList, now_ms: int) -> None:
        """Check that the prices of the pair are on both sides of the last price.

        For a pending pair, check only the order of its own prices.
        """
        stop, profit = (order.wanted for order in listed.others)
        target = profit.price or profit.stop
        last = None if listed.others[0].pending else self._desk.engine.crowd.last(listed.symbol, now_ms)
        # A trailing stop can have no stop price: then only the other order has a place.
        prices = [price for price in (stop.stop, last, target) if price]
        if stop.buys:
            prices.reverse()
        if any(low >= high for low, high in pairwise(prices)):
            raise rejected(BAD_PRICES)

    def _reject(self, listed: OrderList, reason: str, now_ms: int) -> None:
        for order in listed.orders:
            order.status = "REJECTED"
        for order in listed.orders:
            told = listed.status("RESPONSE", reason) if order is listed.orders[-1] else None
            self._desk.records.tell(order, "REJECTED", now_ms, Detail(reject_reason=reason, list_status=told))

    def _release(self, listed: OrderList, now_ms: int) -> None:
        """Put the pending orders of a list on the book. If one fails, all of them expire."""
        desk, pending = self._desk, listed.pending
        account = desk.records.account_of(listed.holder)
        received = desk.records.unreserve(listed)
        for order in pending:
            if listed.pays:
                order.wanted = replace(order.wanted, quantity=self._sellable(order.wanted, received))
            order.released_ms, order.updated_ms, order.status = now_ms, now_ms, "NEW"
        for order in pending:
            try:
                self._judge_release(account, listed, order, now_ms)
            except Refusal:
                for one in pending:
                    one.released_ms = -1
                for one in (order, *(one for one in pending if one is not order)):
                    desk.engine.expire(one, REFUSED_LATER if one is order else OTHER_BEGAN, now_ms)
                return
        desk.records.hold(pending)
        for order in pending:
            desk.records.tell(order, "NEW", now_ms)
        for order in pending:
            if order.open:
                desk.start(order, *desk.engine.match(order, now_ms), now_ms)

    def _judge_release(self, account: Account, listed: OrderList, order: LiveOrder, now_ms: int) -> None:
        desk, wanted = self._desk, order.wanted
        average = desk.average(wanted, now_ms)
        check_filters(wanted, desk.rules(wanted.symbol).filters, average=average, open_orders=-1, open_stops=-1)
        if len(listed.others) == 2:
            self._judge_prices(listed, now_ms)
        match, _ = desk.meet(order, now_ms)
        bought = -(-match.value // UNIT) if wanted.kind == "MARKET" and wanted.buys else 0
        afford(account, wanted, bought or max(one.needed for one in listed.others))

    def _sellable(self, wanted: Wanted, received: int) -> int:
        names = {"LOT_SIZE", "MARKET_LOT_SIZE"} if wanted.at_market else {"LOT_SIZE"}
        for entry in self._desk.rules(wanted.symbol).filters:
            step = units(str(entry["stepSize"])) if entry["filterType"] in names else 0
            received -= received % step if step else 0
        return received
