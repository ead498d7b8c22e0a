"""What is sent when a process dies on the wire, how that is answered, and what the client does who heard nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from mcp_binance_server.domain.order_requests import ListShape
from trading.labels import Label
from trading.wire.exchange_process import ExchangeProcess, Reply
from trading.wire.wire_world import SYMBOL, WireWorld, Wish

Act = Literal["order", "trailing stop", "cancel", "list", "list cancel", "replacement", "amendment"]
Watch = Callable[[], None]


@dataclass(frozen=True)
class Sent:
    """A kind of request: its method and address, what it asks for, and what is refused; `stands` is there before it.

    Where `refused` is none, a request is refused because what it is about was ended by hand.
    """

    method: str
    path: str
    wish: Wish
    refused: Wish | None = None
    stands: Wish | None = None
    earlier: int = 0
    """So many requests of its method go before it."""

    @property
    def is_cancel(self) -> bool:
        return self.method == "DELETE"


SENT: dict[Act, Sent] = {
    "order": Sent("POST", "/api/v3/order", "taken", "refused"),
    "trailing stop": Sent("POST", "/api/v3/order", "trails", "refused trail"),
    "cancel": Sent("DELETE", "/api/v3/order", "rests", stands="rests"),
    "list": Sent("POST", "/api/v3/orderList/{shape}", "taken list", "refused list"),
    "list cancel": Sent("DELETE", "/api/v3/orderList", "resting list", stands="resting list"),
    "replacement": Sent("POST", "/api/v3/order/cancelReplace", "instead", "refused instead", "rests", earlier=1),
    "amendment": Sent("PUT", "/api/v3/order/amend/keepPriority", "smaller", stands="rests"),
}
# A replacement is told 400 if the order is gone that it was to replace: nothing was placed. Refused for itself it is
# told 409: the old order is cancelled, and there is no new one.
NOTHING_LEFT = replace(SENT["replacement"], refused=None)
SHAPES: tuple[ListShape, ...] = get_args(ListShape)
ACTS = tuple(SENT)
# Only what is new to the exchange can be visible late.
NEW: tuple[Act, ...] = ("order", "trailing stop", "list", "replacement")
LISTS: tuple[Act, ...] = ("list", "list cancel")


@dataclass(frozen=True)
class WireScene:
    """What is sent when a process dies, how it is answered, and at which label it left the start that dies."""

    act: Act
    reply: Reply
    left_at: str = ""
    turn: int = 0
    """Lists have another shape, turn by turn."""
    is_gone: bool = False
    """Whether a replacement is refused because what it was to replace is over."""

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.reply}" + (f", left at {self.left_at}" if self.left_at else "")

    @property
    def kind(self) -> str:
        """What is sent, by its shape or by why it is refused if there are several."""
        if self.act in LISTS:
            return f"{self.act} {self.shape}"
        if self.act == "replacement" and self.reply == "rejected":
            return f"{self.act} {400 if self.is_gone else 409}"
        return self.act

    @property
    def shape(self) -> ListShape:
        return SHAPES[self.turn % len(SHAPES)]

    @property
    def way(self) -> str:
        """What most of the code does that is run: after an answer, without one, or at a start."""
        if self.left_at:
            return f"{self.act} left"
        ending = self.reply if self.reply in ("accepted", "rejected") else self.reply.partition(" ")[2]
        return f"{self.act} {ending}"

    @property
    def sent(self) -> Sent:
        sent = NOTHING_LEFT if self.is_gone else SENT[self.act]
        return replace(sent, path=sent.path.format(shape=self.shape.lower()))

    @property
    def wish(self) -> Wish:
        return self.sent.refused or self.sent.wish if self.reply == "rejected" else self.sent.wish

    @property
    def left(self) -> Label:
        return self.label(self.left_at)

    def label(self, name: str) -> Label:
        """Return a label where the request is sent that the scene is about, not one that goes before it."""
        return Label(name, self.sent.earlier if " send " in name else 0)


LEFT: tuple[tuple[Act, Reply, str], ...] = (
    ("order", "accepted", "call channel.py:Channel.write"),
    ("order", "accepted", "c_call send POST"),
    ("order", "accepted", "answered send POST"),
    ("order", "rejected", "answered send POST"),
    ("order", "visible late", "answered send POST"),
    ("order", "503 not executed", "call settling.py:Settling.resolve"),
    ("order", "hanging executed", "answered send POST"),
    ("cancel", "accepted", "c_call send DELETE"),
    ("cancel", "accepted", "answered send DELETE"),
    ("cancel", "rejected", "answered send DELETE"),
    ("cancel", "503 not executed", "call settling.py:Settling.follow_cancel"),
    ("cancel", "hanging not executed", "answered send DELETE"),
    ("list", "accepted", "answered send POST"),
    ("list", "visible late", "answered send POST"),
    ("list", "503 not executed", "call settling.py:Settling.resolve"),
    ("list cancel", "accepted", "answered send DELETE"),
    ("list cancel", "503 not executed", "call settling.py:Settling.follow_cancel"),
    ("replacement", "accepted", "answered send POST"),
    ("replacement", "rejected", "answered send POST"),
    ("replacement", "hanging not executed", "answered send POST"),
    ("amendment", "accepted", "answered send PUT"),
    ("amendment", "503 not executed", "call settling.py:Settling.resolve"),
)


def scenes() -> list[WireScene]:
    """Return every kind of request with every answer, and starts after each kind of death."""
    sent = [WireScene(act, reply) for act in ACTS for reply in get_args(Reply) if act in NEW or reply != "visible late"]
    gone = WireScene("replacement", "rejected", is_gone=True)
    return [*sent, gone, replace(gone, left_at="answered send POST"), *(WireScene(*each) for each in LEFT)]


@dataclass(frozen=True)
class WireCase:
    """One scene, killed at one label."""

    scene: WireScene
    label: Label


def certain_cases() -> list[list[WireCase]]:
    """Return deaths that are met for certain, and soon: with the bytes of a request on their way.

    Each scene with one of its labels, then each with the next one: whoever takes fewer has all scenes and all labels.
    """
    sent = [scene for scene in scenes() if not scene.left_at]
    return [
        [WireCase(scene, scene.label(_deaths(scene)[(place + turn) % 4]))]
        for turn in range(4)
        for place, scene in enumerate(sent)
    ]


def _deaths(scene: WireScene) -> tuple[str, str, str, str]:
    method, is_cancel = scene.sent.method, scene.sent.is_cancel
    mark = "watching.py:OrderWatch.ask_to_cancel" if is_cancel else "ledger.py:HostLedger.mark_sent"
    return f"return journal/{mark}", f"half send {method}", f"c_return send {method}", f"answered send {method}"


def control_cases() -> list[list[WireCase]]:
    """Return cases of which a desk that sends again, or marks too late, gets at least one wrong."""
    labels = ("answered send POST", "call channel.py:Channel._exchange", "call settling.py:Settling.resolve")
    return [[WireCase(scene, Label(label))] for scene in scenes() if scene.act == "order" for label in labels]


@dataclass(frozen=True)
class Sending:
    """What a process does in a scene, and what the client does who heard nothing of it."""

    scene: WireScene
    exchange: ExchangeProcess

    async def do(self, world: WireWorld, watch: Watch) -> None:
        stands = self.scene.sent.stands
        if stands is not None:
            placed = await world.place(stands)
            if placed.intent.status != "NEW":
                return  # the machine was too busy for the haste of this process: there is nothing to send
            if self.scene.reply == "rejected" and self.scene.sent.refused is None:
                self.exchange.cancel_by_hand(SYMBOL, placed.intent.order_ids[0])
        self.exchange.answer(self.scene.sent.method, self.scene.sent.path, self.scene.reply, world.pace.late_ms)
        watch()
        await self.do_again(world)

    async def do_again(self, world: WireWorld) -> None:
        if self.scene.sent.is_cancel:
            await world.cancel(self.scene.wish)
        else:
            await world.place(self.scene.wish)
