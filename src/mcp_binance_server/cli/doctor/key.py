"""Checks of the API key: format, network, signature, permissions and IP access list."""

from mcp_binance_server.cli.doctor.bench import OFF, Bench, CheckResult, export, good, off, set_clock
from mcp_binance_server.domain.account import WITHDRAW, Account
from mcp_binance_server.errors import AppError, ExchangeError, InvalidCredentials
from mcp_binance_server.exchange.diagnosis import KEY_FORMAT, home_of
from mcp_binance_server.exchange.endpoints import host_of
from mcp_binance_server.exchange.spot.account import TELLS_RIGHTS, read_key_rights
from mcp_binance_server.exchange.wire import TIMESTAMP

SECRET_CHARACTERS = 64


async def form(bench: Bench) -> CheckResult:
    if bench.principal is None:
        return off("none set: public data only, no account or order pages")
    credentials = bench.principal.credentials
    if not KEY_FORMAT.fullmatch(credentials.api_key):
        return CheckResult(
            "problem",
            f"BINANCE_API_KEY has {len(credentials.api_key)} characters; an API key is 64 letters and digits",
            "The key was copied incompletely, or together with its name, quotes or blanks",
            "Copy it again",
            bench.network.help_url,
        )
    if not credentials.is_pem and len(credentials.secret) != SECRET_CHARACTERS:
        return CheckResult(
            "problem",
            f"BINANCE_SECRET_KEY has {len(credentials.secret)} characters; a secret of Binance has 64",
            "It was copied incompletely, or it is a private key, whose file belongs in BINANCE_PRIVATE_KEY_FILE",
            "Copy it again; a secret is shown only once, so you may need a new key",
            bench.network.help_url,
        )
    return good(f"{credentials.masked}, with {'a private key' if credentials.is_pem else 'a secret (HMAC)'}")


async def network(bench: Bench) -> CheckResult:
    name, host = bench.network.name, host_of(bench.network.rest_url)
    if (home := home_of(host)) is not None and home != name:
        return CheckResult(
            "problem",
            f"BINANCE_NETWORK is {name}, but BINANCE_REST_URL points to {host}, a host of {home}",
            "A key works only on the network that made it",
            "Set both to the same network",
            export("BINANCE_NETWORK", home),
        )
    answer = await bench.account()
    if isinstance(answer, InvalidCredentials):
        return await _unknown_key(bench, answer) if answer.likely_cause == _UNKNOWN else good(f"{name} knows the key")
    if isinstance(answer, AppError) and not _is_timestamp(answer):
        return CheckResult(
            "problem",
            f"the account could not be read: {answer.message}",
            answer.error_type,
            answer.recovery_suggestion,
            bench.network.help_url,
        )
    return good(f"{name} knows the key")


async def signature(bench: Bench) -> CheckResult:
    answer = await bench.account()
    if isinstance(answer, InvalidCredentials) and answer.likely_cause in {"signature", "key_format"}:
        return CheckResult(
            "problem",
            f"{host_of(bench.network.rest_url)} knows the key but refuses the signature",
            answer.explanation or "",
            "Copy the secret again, or make a new key: a secret is shown only once",
            bench.network.help_url,
        )
    if isinstance(answer, AppError) and _is_timestamp(answer):
        return CheckResult(
            "problem",
            "signed requests are refused as too early or too late (-1021)",
            "This machine's clock drifts faster than the server can correct it",
            "Turn on clock synchronisation",
            set_clock(),
        )
    return good("accepted")


async def permissions(bench: Bench) -> CheckResult:
    answer = await bench.account()
    if isinstance(answer, InvalidCredentials):
        return CheckResult(
            "problem",
            "the key is valid, but may not read the account",
            answer.explanation or "The key's IP access list lacks this machine, or Enable Reading is not ticked",
            "Edit the key: tick 'Enable Reading', and put this machine's public address into its IP access list",
            bench.network.help_url,
        )
    if isinstance(answer, Account) and bench.network.name != TELLS_RIGHTS:
        return good(f"may read; {bench.network.name} does not report a key's permissions")
    try:
        bench.rights = rights = await read_key_rights(bench.app.account)
    except AppError:
        return good("may read; this host does not report a key's permissions")
    # Withdrawal permission has its own check.
    extra = ", ".join(each for each in rights.beyond_reading if each != WITHDRAW)
    if extra:
        return good(f"may read, {extra}{'; this server only reads' if bench.mode == OFF else ''}")
    return good("may read" if rights.withdrawals else "may read, and nothing else")


async def addresses(bench: Bench) -> CheckResult:
    if bench.rights is None:
        return off()
    if bench.rights.ip_restricted:
        return good("only addresses in its list may use the key")
    return CheckResult(
        "warning",
        "any address may use the key",
        "A stolen key and secret can be used from anywhere",
        "Edit the key: choose 'Restrict access to trusted IPs only' and enter this machine's public address",
        bench.network.help_url,
    )


async def withdrawals(bench: Bench) -> CheckResult:
    if bench.rights is None:
        return off()
    if not bench.rights.withdrawals:
        return good("the key cannot withdraw")
    return CheckResult(
        "problem",
        "THIS KEY CAN WITHDRAW YOUR MONEY",
        "'Enable Withdrawals' is ticked; the server never needs it, and a stolen key could empty the account",
        "Edit the key now and untick 'Enable Withdrawals', or delete it and make one that can only read",
        bench.network.help_url,
        is_alarm=True,
    )


_UNKNOWN = "unknown_key_or_wrong_network"


async def _unknown_key(bench: Bench, answer: InvalidCredentials) -> CheckResult:
    name, host = bench.network.name, host_of(bench.network.rest_url)
    if (home := await bench.home_of_key()) is not None:
        return CheckResult(
            "problem",
            f"this is a key of {home}, but BINANCE_NETWORK is {name}",
            f"{host} does not know the key, {home} does: a key works only on the network that made it",
            f"Use {home}, or make a key for {name} at {bench.network.help_url}",
            export("BINANCE_NETWORK", home),
        )
    return CheckResult(
        "problem",
        f"{host} does not accept the key at all",
        answer.explanation or "",
        f"Look for the key in your list: it was deleted, mistyped, made on another network than {name}, or does not "
        "allow this IP",
        bench.network.help_url,
    )


def _is_timestamp(error: AppError) -> bool:
    return isinstance(error, ExchangeError) and error.exchange_code == TIMESTAMP
