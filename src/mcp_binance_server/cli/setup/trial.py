"""The key that was stored, tried where it belongs: whether it is accepted, and what it may do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_binance_server.app import App, running_app
from mcp_binance_server.cli.terminal import Colour
from mcp_binance_server.domain.account import KeyRights
from mcp_binance_server.errors import AppError, InvalidCredentials, SettingsError
from mcp_binance_server.exchange.networks import host_of
from mcp_binance_server.exchange.spot.key_rights import TELLS_RIGHTS, read_key_rights
from mcp_binance_server.key_file import PAIR
from mcp_binance_server.key_file import VARIABLE as KEY_FILE
from mcp_binance_server.settings import read_settings


@dataclass(frozen=True, slots=True)
class KeyTrial:
    """What became of a trial: a sentence, what to do about it, and how alarming it is."""

    said: str
    advice: str = ""
    colour: Colour = "green"


async def try_key(environment: Mapping[str, str], keys: Path, network: str) -> KeyTrial | None:
    """Read the account with the keys of a file, as the server will; none if the file holds no Binance key."""
    around = {name: value for name, value in environment.items() if name not in PAIR}
    around |= {KEY_FILE: str(keys), "BINANCE_NETWORK": network}
    try:
        settings = read_settings(around)
        async with running_app(settings) as app:
            return await _read_with(app, network) if app.account.principal else None
    except SettingsError as error:
        return KeyTrial("The key cannot be used.", "\n".join(error.problems), "red")


async def _read_with(app: App, network: str) -> KeyTrial:
    host = host_of(app.network.rest_url)
    try:
        await app.account.account()
    except InvalidCredentials as error:
        advice = error.explanation or f"Look at the key at {error.help_url} and run this again."
        return KeyTrial(f"{network} refuses the key.", advice, "red")
    except AppError as error:
        return KeyTrial(f"The key could not be tried: {error.message}", "It is stored all the same.", "yellow")
    return _accepted(host, await _rights(app, network))


async def _rights(app: App, network: str) -> KeyRights | None:
    try:
        return await read_key_rights(app.account) if network == TELLS_RIGHTS else None
    except AppError:
        return None  # the account was read: that matters, and not every host tells the rest


def _accepted(host: str, rights: KeyRights | None) -> KeyTrial:
    if rights is None:
        return KeyTrial(f"{host} accepts the key: it may read the account.")
    if rights.withdrawals:
        return KeyTrial(
            f"{host} accepts the key, and IT CAN WITHDRAW YOUR MONEY.",
            "Untick 'Enable Withdrawals' for this key now: nothing here needs it.",
            "alarm",
        )
    listed = "" if rights.ip_restricted else "Any address may use the key: give it an IP access list."
    if more := rights.beyond_reading:
        advice = "A key that can only read is enough for everything but placing orders."
        return KeyTrial(f"{host} accepts the key: it may read, {', '.join(more)}.", f"{advice}\n{listed}", "yellow")
    return KeyTrial(f"{host} accepts the key: it may read, and nothing else.", listed)
