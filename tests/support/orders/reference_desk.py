"""An order desk without shortcuts. Locked funds are computed from the open orders at each query."""

from dataclasses import dataclass, field

UNIT = 10**8
LEAST_VALUE = 5 * UNIT
MOST_AMENDMENTS = 10
ENGINE_REFUSES, NOTHING_TO_CANCEL, NOT_AMENDED, FILTER_FAILS = -2010, -2011, -2038, -1013
PARTLY, NOT_AT_ALL = -2021, -2022


@dataclass(slots=True, eq=False, kw_only=True)
class Leg:
    """One order, alone or of a list; amounts in multiples of 0.00000001."""

    name: str
    owner: str
    buys: bool
    kind: str
    price: int
    quantity: int
    stop: int = 0
    time_in_force: str = "GTC"
    mode: str = "NONE"
    status: str = "NEW"
    reason: str | None = None
    executed: int = 0
    value: int = 0
    prevented: int = 0
    triggered: bool = False
    came: int | None = None
    """When it came on the book; None when it is not there."""
    amended: int = 0
    bunch: "Bunch | None" = None

    @property
    def open(self) -> bool:
        return self.status in {"NEW", "PARTIALLY_FILLED", "PENDING_NEW"}

    @property
    def left(self) -> int:
        return self.quantity - self.executed - self.prevented

    @property
    def needs(self) -> int:
        return -(-self.price * self.left // UNIT) if self.buys else self.left

    @property
    def pays_in(self) -> str:
        return "USDT" if self.buys else "BTC"

    def reached(self, price: int) -> bool:
        """Tell whether a trade at a price pulls its trigger."""
        rises = self.buys == (self.kind == "STOP_LOSS_LIMIT")
        return price >= self.stop if rises else price <= self.stop


@dataclass(slots=True, eq=False, kw_only=True)
class Bunch:
    """A list of orders."""

    name: str
    owner: str
    working: Leg | None
    others: list[Leg]
    pays: bool = False
    reserved: int = 0

    @property
    def legs(self) -> list[Leg]:
        return [*([] if self.working is None else [self.working]), *self.others]

    @property
    def done(self) -> bool:
        return not any(leg.open for leg in self.legs)


@dataclass(slots=True)
class ReferenceDesk:
    """Two accounts, one market, and a crowd that shows nothing and trades when it is told to."""

    totals: dict[tuple[str, str], int]
    last: int
    legs: list[Leg] = field(default_factory=list[Leg])
    bunches: list[Bunch] = field(default_factory=list[Bunch])
    unattempted: dict[str, int] = field(default_factory=dict[str, int])
    _ended: list[Bunch] = field(default_factory=list[Bunch])
    _came: int = 0

    def locked(self, owner: str, asset: str) -> int:
        own = [leg for leg in self.legs if leg.owner == owner and leg.open and leg.status != "PENDING_NEW"]
        pairs = {id(leg.bunch): leg.bunch.others for leg in own if leg.bunch is not None and leg in leg.bunch.others}
        alone = [leg for leg in own if leg.bunch is None or leg not in leg.bunch.others]
        held = [(leg.pays_in, leg.needs) for leg in alone]
        held += [(pair[0].pays_in, max(leg.needs for leg in pair if leg.open)) for pair in pairs.values()]
        held += [("BTC", bunch.reserved) for bunch in self.bunches if bunch.owner == owner]
        return sum(amount for name, amount in held if name == asset)

    def free(self, owner: str, asset: str) -> int:
        return self.totals[owner, asset] - self.locked(owner, asset)

    def unfilled(self, owner: str) -> int:
        own = [leg for leg in self.legs if leg.owner == owner]
        return sum(not leg.executed for leg in own) + self.unattempted.get(owner, 0)

    def queue(self, *, buys: bool) -> list[Leg]:
        """Return one side of the book in the order in which it is served."""
        side = [leg for leg in self.legs if leg.came is not None and leg.buys == buys]
        return sorted(side, key=lambda leg: (-leg.price if buys else leg.price, leg.came))

    def place(self, leg: Leg) -> int:
        if self._taken(leg.owner, [leg.name]) or self._refused(leg) or self.free(leg.owner, leg.pays_in) < leg.needs:
            return ENGINE_REFUSES
        self.legs.append(leg)
        self._enter(leg)
        self._follow()
        return 0

    def place_list(self, bunch: Bunch) -> int:
        starts = bunch.others if bunch.working is None else [bunch.working]
        twice = any(one.name == bunch.name and one.owner == bunch.owner and not one.done for one in self.bunches)
        if (
            twice
            or self._taken(bunch.owner, [leg.name for leg in bunch.legs])
            or not self._in_order(bunch, None if bunch.working else self.last)
            or any(self._refused(leg) for leg in starts)
            or self.free(bunch.owner, starts[0].pays_in) < max(leg.needs for leg in starts)
        ):
            return ENGINE_REFUSES
        for leg in bunch.legs:
            leg.bunch = bunch
            leg.status = "NEW" if leg in starts else "PENDING_NEW"
        self.legs += bunch.legs
        self.bunches.append(bunch)
        for leg in starts:
            self._enter(leg)
        self._follow()
        return 0

    def cancel(self, owner: str, name: str) -> int:
        leg = self._find(owner, name)
        if leg is None:
            return NOTHING_TO_CANCEL
        for one in [leg] if leg.bunch is None else leg.bunch.legs:
            if one.open:
                self._end(one, "CANCELED")
        if leg.bunch is not None:
            leg.bunch.reserved = 0
        return 0

    def cancel_list(self, owner: str, name: str) -> int:
        bunches = [one for one in self.bunches if one.owner == owner and one.name == name]
        if not bunches or bunches[-1].done:
            return NOTHING_TO_CANCEL
        return self.cancel(owner, next(leg.name for leg in bunches[-1].legs if leg.open))

    def replace(self, name: str, leg: Leg, *, must_cancel: bool) -> int:
        cancelled = self.cancel(leg.owner, name) == 0
        if must_cancel and not cancelled:
            self.unattempted[leg.owner] = self.unattempted.get(leg.owner, 0) + 1
            return NOT_AT_ALL
        placed = self.place(leg) == 0
        return 0 if cancelled and placed else PARTLY if cancelled or placed else NOT_AT_ALL

    def amend(self, owner: str, name: str, quantity: int, new_name: str) -> int:
        leg = self._find(owner, name)
        if leg is None or quantity >= leg.quantity:
            return NOT_AMENDED
        pending_part = leg.status == "PENDING_NEW" and leg.bunch is not None and leg.bunch.pays
        others = {one.name for one in self.legs if one.open and one.owner == owner and one is not leg}
        if pending_part or new_name in others or leg.amended >= MOST_AMENDMENTS:
            return NOT_AMENDED
        if leg.price * quantity // UNIT < LEAST_VALUE:
            return FILTER_FAILS
        leg.name, leg.quantity, leg.amended = new_name, max(quantity, leg.executed + leg.prevented), leg.amended + 1
        if not leg.left:
            self._end(leg, "EXPIRED")
            self._follow()
            return 0
        other = self._other(leg)
        if other is not None:
            other.quantity, other.amended = quantity, other.amended + 1
        return 0

    def crowd_trades(self, price: int, quantity: int, *, sold: bool) -> None:
        self.last = price
        fills: list[tuple[Leg, int]] = []
        for leg in [*self.queue(buys=True), *self.queue(buys=False)]:
            beyond = price < leg.price if leg.buys else price > leg.price
            if beyond or (price == leg.price and leg.buys != sold):
                fills.append((leg, leg.left))
        for leg in self.queue(buys=sold):
            if leg.price == price and quantity:
                fills.append((leg, min(quantity, leg.left)))
                quantity -= fills[-1][1]
        for leg, amount in fills:
            self._fill(leg, leg.price, amount)
        waiting = [leg for leg in self.legs if self._waits(leg)]
        for leg in waiting:
            if self._waits(leg) and leg.reached(price):
                leg.triggered = True
                self._end_other(leg)
                self._enter(leg)
        self._follow()

    def _find(self, owner: str, name: str) -> Leg | None:
        return next((leg for leg in self.legs if leg.open and leg.owner == owner and leg.name == name), None)

    def _taken(self, owner: str, names: list[str]) -> bool:
        return len({*names}) < len(names) or any(self._find(owner, name) is not None for name in names)

    def _waits(self, leg: Leg) -> bool:
        return bool(leg.stop) and not leg.triggered and leg.open and leg.status != "PENDING_NEW"

    def _crossing(self, leg: Leg) -> list[Leg]:
        side = self.queue(buys=not leg.buys)
        return [one for one in side if (one.price <= leg.price if leg.buys else one.price >= leg.price)]

    def _refused(self, leg: Leg) -> bool:
        if leg.stop and leg.reached(self.last):
            return True
        return leg.kind == "LIMIT_MAKER" and bool(self._crossing(leg))

    def _in_order(self, bunch: Bunch, last: int | None) -> bool:
        if len(bunch.others) < 2:
            return True
        stop, profit = bunch.others
        low, high = (profit.price, stop.stop) if stop.buys else (stop.stop, profit.price)
        return low < high if last is None else low < last < high

    def _enter(self, leg: Leg) -> None:
        if self._waits(leg):
            return
        while leg.left:
            met = self._crossing(leg)
            if not met:
                break
            maker = met[0]
            if maker.owner == leg.owner and leg.mode != "NONE":
                self._prevent(maker if leg.mode == "EXPIRE_MAKER" else leg)
                continue
            amount = min(leg.left, maker.left)
            self._fill(maker, maker.price, amount)
            self._fill(leg, maker.price, amount)
        if not leg.left:
            return
        if leg.time_in_force == "IOC":
            self._end(leg, "EXPIRED", "UNFILLED_IOC_QUANTITY_EXPIRED")
        else:
            self._came += 1
            leg.came = self._came

    def _fill(self, leg: Leg, price: int, amount: int) -> None:
        if not leg.executed:
            self._end_other(leg)
        free = self.free(leg.owner, "BTC")
        value = price * amount // UNIT
        leg.executed += amount
        leg.value += value
        fee = (amount if leg.buys else value) // 1000
        self.totals[leg.owner, "BTC"] += amount - fee if leg.buys else -amount
        self.totals[leg.owner, "USDT"] += -value if leg.buys else value - fee
        if leg.bunch is not None and leg.bunch.pays and leg.bunch.working is leg:
            leg.bunch.reserved += amount if free >= fee else amount - fee
        leg.status = "PARTIALLY_FILLED"
        if not leg.left:
            self._end(leg, "FILLED")

    def _prevent(self, leg: Leg) -> None:
        self._end_other(leg)
        leg.prevented += leg.left
        self._end(leg, "EXPIRED_IN_MATCH")

    def _other(self, leg: Leg) -> Leg | None:
        if leg.bunch is None or leg not in leg.bunch.others:
            return None
        return next((one for one in leg.bunch.others if one is not leg and one.open), None)

    def _end_other(self, leg: Leg) -> None:
        other = self._other(leg)
        if other is not None:
            self._end(other, "EXPIRED", "OCO_TRIGGER")

    def _end(self, leg: Leg, status: str, reason: str | None = None) -> None:
        leg.status, leg.reason, leg.came = status, reason, None
        if leg.bunch is not None and leg.bunch.working is leg and status != "CANCELED":
            self._ended.append(leg.bunch)

    def _follow(self) -> None:
        while self._ended:
            bunch = self._ended.pop(0)
            received, bunch.reserved = bunch.reserved, 0
            pending = [leg for leg in bunch.others if leg.open]
            if bunch.working is None or bunch.working.status != "FILLED":
                for leg in pending:
                    self._end(leg, "EXPIRED", "OTO_PHASE_ONE_EXPIRED")
                continue
            for leg in pending:
                leg.quantity = received // 1000 * 1000 if bunch.pays else leg.quantity
            wrong = next((leg for leg in pending if not self._fits(bunch, leg)), None)
            for leg in pending:
                if wrong is not None:
                    self._end(leg, "EXPIRED", "REJECTED" if leg is wrong else "OCO_TRIGGER")
                else:
                    leg.status = "NEW"
            for leg in pending:
                if leg.open:
                    self._enter(leg)

    def _fits(self, bunch: Bunch, leg: Leg) -> bool:
        return (
            leg.price * leg.quantity // UNIT >= LEAST_VALUE
            and self._in_order(bunch, self.last)
            and not self._refused(leg)
            and self.free(bunch.owner, leg.pays_in) >= max(one.needs for one in bunch.others)
        )
