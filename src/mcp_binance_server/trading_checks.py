"""Startup checks of trading: the settings, the key and the limits file must agree."""

from urllib.parse import urlsplit

from mcp_binance_server.errors import SettingsError, echo
from mcp_binance_server.exchange.endpoints import NETWORKS, AddressOf, Network, is_loopback, is_published
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.settings import Settings
from mcp_binance_server.state.engine_factory import MEMORY
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.policy_file import policy_at

TOOLSETS = ("orders", "trade")
PLAY = ("testnet", "demo")
MONEY = "mainnet"
ADDRESSES: dict[AddressOf, str] = {
    "rest_url": "BINANCE_REST_URL",
    "ws_api_url": "BINANCE_WS_API_URL",
    "stream_url": "BINANCE_STREAM_URL",
    "futures_rest_url": "BINANCE_FUTURES_REST_URL",
    "futures_stream_url": "BINANCE_FUTURES_STREAM_URL",
}
# Addresses that receive orders or order events. All other addresses have public data.
ORDERS_PASS: tuple[AddressOf, ...] = ("rest_url", "ws_api_url")
HOW_TO = "docs/how-to/live.md"
NOBODY_ELSE = "only you can set limits for your money"


def checked_rules(settings: Settings, network: Network, principal: Principal | None) -> Policy:
    """Check all trading settings and return the limits for the server's own key.

    Raises:
        SettingsError: a setting is missing, or two settings disagree. The message names the setting to change.
    """
    require_agreement(settings, network, principal)
    policy = policy_at(settings.trading_policy)
    if settings.trading == "paper" or principal is None:
        return policy
    if problem := _unfit_policy(settings, policy, principal.key_id):
        raise _refused(settings, problem)
    return policy.of_key(principal.key_id)


def require_agreement(settings: Settings, network: Network, principal: Principal | None) -> None:
    """Check that the settings agree, without the limits file.

    Raises:
        SettingsError: a setting is missing, or two settings disagree. The message names the setting to change.
    """
    problem = _wrong_network(settings, network) or _missing(settings, principal) or _strange_host(settings, network)
    if problem:
        raise _refused(settings, problem)


def _wrong_network(settings: Settings, network: Network) -> str:
    """Return the conflict between mode and network, or an empty text.

    Both settings must agree, so that a single typing error cannot cost money.
    """
    name = settings.network if network.simulated else network.name
    match settings.trading:
        case "practice" if not settings.names_network:
            return (
                "needs BINANCE_NETWORK=testnet or BINANCE_NETWORK=demo, set explicitly: the default is mainnet, with "
                "real money"
            )
        case "practice" if name not in PLAY:
            return (
                f"and BINANCE_NETWORK={name} disagree: practice needs testnet or demo; for real money set "
                "MCP_BINANCE_TRADING=live"
            )
        case "live" if not settings.names_network:
            return "needs BINANCE_NETWORK=mainnet, set explicitly: real money needs two settings"
        case "live" if name != MONEY:
            return (
                f"and BINANCE_NETWORK={name} disagree: live needs mainnet; for play money set "
                "MCP_BINANCE_TRADING=practice"
            )
        case _:
            return ""


def _missing(settings: Settings, principal: Principal | None) -> str:
    if settings.trading != "paper" and principal is None:
        return (
            f"needs a key of BINANCE_NETWORK={settings.network}: create one at {NETWORKS[settings.network].help_url}, "
            "then run mcp-binance-server setup, or set BINANCE_API_KEY and BINANCE_SECRET_KEY"
        )
    if missing := [each for each in TOOLSETS if each not in settings.groups]:
        return f"needs {' and '.join(missing)} in MCP_BINANCE_TOOLSETS"
    if settings.state_url.get_secret_value() != MEMORY and settings.round_key_file is None:
        return (
            "and MCP_BINANCE_STATE_URL need MCP_BINANCE_ROUND_KEY_FILE, the same file of at least 32 random bytes "
            "on every server: without it, no server can place an order that another has previewed"
        )
    if settings.trading_dir is None:
        return "needs MCP_BINANCE_TRADING_DIR, a folder for the journal of orders: this user has no home folder"
    return ""


def _strange_host(settings: Settings, network: Network) -> str:
    """Return the problem of a host that is neither Binance's nor a simulator on this machine.

    An unknown host might execute a practice order with real money. It would also receive signed live orders, which stay
    valid for seconds.
    """
    if settings.trading == "paper" or network.simulated:
        return ""
    for part in ADDRESSES if settings.trading == "practice" else ORDERS_PASS:
        url: str | None = getattr(network, part)
        if url is not None and not is_loopback(url) and not is_published(network.name, part, url):
            return (
                f"and {ADDRESSES[part]} disagree: {echo(urlsplit(url).hostname or '')} is neither an encrypted address "
                f"published by Binance for {network.name} nor on this machine; unset {ADDRESSES[part]}"
            )
    return ""


def _unfit_policy(settings: Settings, policy: Policy, key_id: str) -> str:
    mode, path = settings.trading, settings.trading_policy
    where = f"MCP_BINANCE_TRADING_POLICY ({path})"
    named = policy.mode_of(key_id)
    if named is not None and named != mode:
        return f'and {where} disagree: it names this key, {key_id}, with mode = "{named}"'
    if mode != "live":
        return ""
    if path is None:
        return (
            "needs MCP_BINANCE_TRADING_POLICY, a file trading.toml with your limits: symbols, per_order, per_day and "
            f'daily_loss below [limits], and mode = "live" below [keys."{key_id}"]; see {HOW_TO}'
        )
    if lacking := policy.of_key(key_id).lacks_for_live():
        return f"needs {', '.join(lacking)} below [limits] in {where}: {NOBODY_ELSE}; {HOW_TO} explains each"
    if named is None:
        return (
            f'needs this key in {where}: if it may trade with real money, add two lines, [keys."{key_id}"] and '
            'mode = "live"'
        )
    return _incomplete_keys(policy, where)


def _incomplete_keys(policy: Policy, where: str) -> str:
    """Return the missing limits of live keys.

    Keys without limits must not trade real money, even if they belong to another owner.
    """
    lacking = {name: policy.of_key(name).lacks_for_live() for name, own in policy.keys.items() if own.mode == "live"}
    told = [
        f'{", ".join(lines)} below [keys."{echo(name)}".limits], or for all below [limits]'
        for name, lines in lacking.items()
        if lines
    ]
    return f"needs {'; '.join(told)}, in {where}: {NOBODY_ELSE}; {HOW_TO} explains each" if told else ""


def _refused(settings: Settings, problem: str) -> SettingsError:
    return SettingsError(problems=(f"MCP_BINANCE_TRADING={settings.trading} {problem}",))
