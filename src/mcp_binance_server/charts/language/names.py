"""Names of coins, stocks and exchanges, and the listed pairs."""

from dataclasses import dataclass, field
from typing import Final, Literal

from mcp_binance_server.domain.money import ASSET_NAMES, STABLECOINS
from mcp_binance_server.domain.symbols import SymbolTable

Kind = Literal["coin", "fiat", "metal", "fixed"]

# Quote assets accepted at the end of an unlisted or delisted pair.
KNOWN_QUOTES = ("FDUSD", *STABLECOINS, "BTC", "ETH", "BNB", "EUR", "TRY", "BRL")


@dataclass(frozen=True, slots=True)
class Named:
    """The meaning of a name: an asset that needs a quote asset, or one fixed market.

    `assumed` names the alternative meaning. It is empty if the name is unambiguous.
    """

    kind: Kind
    code: str
    assumed: str = ""


# Tickers by home exchange, each with its names. A ticker is a name too.
_STOCKS: Final = {
    "NASDAQ": "AAPL:apple TSLA:tesla MSFT:microsoft NVDA:nvidia AMZN:amazon GOOGL:google,alphabet META:meta,facebook "
    "NFLX:netflix AMD: INTC:intel COIN: MSTR:microstrategy,strategy MARA:marathon RIOT: HOOD:robinhood PYPL:paypal "
    "ADBE:adobe PLTR:palantir AVGO:broadcom QQQ:",
    "NYSE": "MA:mastercard V:visa JPM:jpmorgan BA:boeing DIS:disney KO:coca-cola,coke WMT:walmart NKE:nike "
    "GME:gamestop XOM:exxon BABA:alibaba UBER:uber",
    "AMEX": "SPY: GLD: ARKK:",
}
_FIXED: Final = {
    "SP:SPX": "s&p 500, s&p500, s&p, sp500, sp 500, spx",
    "NASDAQ:NDX": "nasdaq 100, ndx, nasdaq100, us100",
    "TVC:DJI": "dow jones, the dow, dji, us30",
    "TVC:VIX": "vix, volatility s&p",
    "TVC:DXY": "dxy, dollar index, us dollar index",
    "TVC:RUT": "russell 2000, rut",
    "XETR:DAX": "dax",
    "TVC:NI225": "nikkei, nikkei 225",
    "TVC:UKX": "ftse, ftse 100",
    "TVC:US10Y": "us10y, 10 year yield, ten year yield",
    "TVC:UKOIL": "brent, brent oil, brent crude",
    "NYMEX:NG1!": "natural gas, natgas",
    "CME_MINI:ES1!": "es futures, es1!, s&p futures, s&p 500 futures, e-mini",
    "CME_MINI:NQ1!": "nq futures, nq1!, nasdaq futures",
    "COMEX:GC1!": "gold futures, gc futures, gc1!",
    "NYMEX:CL1!": "oil futures, crude futures, cl futures, cl1!",
    "CRYPTOCAP:TOTAL": "total crypto market cap, crypto market cap, total market cap, crypto total market cap, total1",
    "CRYPTOCAP:TOTAL2": "total2, total 2, alts market cap, altcoin market cap, alt market cap, altcoins market cap, "
    "market cap excluding bitcoin, market cap excluding btc, crypto market cap excluding btc, "
    "crypto market cap excluding bitcoin, total market cap excluding btc, total crypto market cap excluding btc, "
    "total market cap without btc, crypto total market cap excluding btc",
    "CRYPTOCAP:TOTAL3": "total3, total 3",
    "FX:GBPUSD": "cable",
    "FX:AUDUSD": "aussie dollar, aussie, australian dollar",
    "FX:NZDUSD": "kiwi, kiwi dollar",
    "FX:USDCAD": "loonie, canadian dollar",
    "FX:EURUSD": "fiber",
    "NASDAQ:COIN": "coinbase stock, coinbase shares, coinbase global",
}
# Ambiguous names: the chosen market, its names, and a hint at the alternatives.
_ASSUMED: Final = {
    "TVC:USOIL": ("crude oil, crude, oil, wti", "TVC:USOIL is used; NYMEX:CL1! has the futures, TVC:UKOIL is Brent"),
    "TVC:DXY": (
        "dollar, us dollar",
        "the dollar index TVC:DXY is used; for a currency pair, write its name, such as EUR/USD",
    ),
    "CRYPTOCAP:TOTAL2": (
        "alts, altcoins",
        "CRYPTOCAP:TOTAL2, the market without Bitcoin, is used; name a coin to draw it instead",
    ),
    "NASDAQ:NDX": ("nasdaq", "the index NASDAQ:NDX is used; NASDAQ:IXIC is the composite"),
    "CAPITALCOM:COPPER": ("copper", "CAPITALCOM:COPPER is used; COMEX:HG1! has the futures"),
}
_METALS: Final = {
    "gold": ("XAU", "spot gold is used; other symbols: TVC:GOLD, COMEX:GC1! and BINANCE:PAXGUSDT"),
    "silver": ("XAG", "spot silver is used; other symbols: TVC:SILVER and COMEX:SI1!"),
    "xau": ("XAU", ""),
    "xag": ("XAG", ""),
}
_COINS: Final = {
    "BTC": "xbt, btc, bitcoins",
    "ETH": "ether, eth",
    "XRP": "ripple",
    "BNB": "binance coin, bnb",
    "SHIB": "shiba",
    "POL": "polygon",
    "RENDER": "render token",
    "PAXG": "pax gold, paxos gold",
    "1INCH": "1inch",
    "NEAR": "near protocol",
    "HBAR": "hedera",
    "VET": "vechain",
    "ALGO": "algorand",
    "INJ": "injective",
    "TIA": "celestia",
    "ENA": "ethena",
    "WIF": "dogwifhat",
    "XMR": "monero",
    "ZEC": "zcash",
}
_FIATS: Final = {
    "EUR": "eur, euro, euros", "USD": "usd", "GBP": "gbp, pound, pounds, sterling", "JPY": "jpy, yen",
    "CHF": "chf, franc, francs", "AUD": "aud", "NZD": "nzd", "CAD": "cad", "TRY": "turkish lira, lira, liras",
    "BRL": "brl, reais", "MXN": "mxn, pesos", "ZAR": "zar, rand", "SEK": "sek", "NOK": "nok", "PLN": "pln, zloty",
    "SGD": "sgd", "HKD": "hkd", "CNH": "cnh, yuan", "INR": "inr, rupees",
}  # fmt: skip

RENAMED: Final = {"MATIC": "POL", "FTM": "S", "RNDR": "RENDER"}
# Words for quote assets, as in "in sats" or "in dollars". Without "in" they mean something else, or nothing.
QUOTE_WORDS: Final = {
    "sats": "BTC", "sat": "BTC", "satoshis": "BTC", "dollars": "USD", "dollar": "USD", "us dollars": "USD",
    "us dollar": "USD", "usd": "USD", "tether": "USDT", "bucks": "USD", "try": "TRY",
}  # fmt: skip
# The meaning of "sats" without "in": the token 1000SATS.
THOUSAND_SATS: Final = "1000SATS"
# Currencies quoted with the dollar first, as in USD/JPY.
DOLLAR_FIRST: Final = frozenset(
    {"JPY", "CHF", "CAD", "TRY", "MXN", "CNH", "INR", "ZAR", "SEK", "NOK", "PLN", "SGD", "HKD"}
)
FIAT_CODES: Final = frozenset((*_FIATS, "TRY"))
# Exchanges that trade against real US dollars. Their default quote asset is USD, not a stablecoin.
DOLLAR_EXCHANGES: Final = frozenset({"COINBASE", "KRAKEN", "BITSTAMP", "GEMINI", "BITFINEX"})
# Stock exchanges by name; they list no coins.
STOCK_EXCHANGES: Final = {"nasdaq": "NASDAQ", "nyse": "NYSE", "amex": "AMEX", "lse": "LSE", "xetra": "XETR"}
# Current and former names of some exchanges.
EXCHANGE_NAMES: Final = {
    "huobi": "HTX", "gate.io": "GATEIO", "okex": "OKX", "ftx": "FTX", "crypto.com": "CRYPTOCOM",
    "bitmex": "BITMEX", "binance us": "BINANCEUS", "binance.us": "BINANCEUS", "coinbase pro": "COINBASE",
}  # fmt: skip


def named_markets() -> dict[str, Named]:
    """Return all names with their meanings."""
    found: dict[str, Named] = {}
    for exchange, rows in _STOCKS.items():
        for row in rows.split():
            ticker, _, names = row.partition(":")
            for name in (ticker, *filter(None, names.split(","))):
                found[name.lower()] = Named("fixed", f"{exchange}:{ticker}")
    for symbol, names in _FIXED.items():
        found.update((name, Named("fixed", symbol)) for name in names.split(", "))
    for symbol, (names, other) in _ASSUMED.items():
        found.update((name, Named("fixed", symbol, other)) for name in names.split(", "))
    found.update((name, Named("metal", code, other)) for name, (code, other) in _METALS.items())
    for code, names in _FIATS.items():
        found.update((name, Named("fiat", code)) for name in names.split(", "))
    for code, name in ASSET_NAMES.items():
        found[name.lower()] = Named("coin", code)
    for code, names in _COINS.items():
        found.setdefault(code.lower(), Named("coin", code))
        found.update((name, Named("coin", code)) for name in names.split(", "))
    return found


@dataclass(frozen=True, slots=True)
class Listing:
    """The trading pairs by symbol."""

    pairs: dict[str, tuple[str, str]] = field(repr=False)
    bases: frozenset[str] = field(repr=False)
    quotes: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, table: SymbolTable | None) -> "Listing":
        """Build the listing from a symbol table. Without a table only the names of well-known coins are recognised."""
        rules = () if table is None else table.rules.values()
        pairs = {str(each.symbol): (each.base, each.quote) for each in rules if each.is_trading}
        bases = frozenset(base for base, _quote in pairs.values())
        return cls(pairs, bases, frozenset(quote for _base, quote in pairs.values()))

    @property
    def is_empty(self) -> bool:
        return not self.pairs

    def lists(self, base: str, quote: str) -> bool:
        return base + quote in self.pairs

    def knows(self, asset: str) -> bool:
        """Return True if a code is a listed asset or a well-known coin."""
        return asset in self.bases or asset in ASSET_NAMES

    def split(self, text: str) -> tuple[str, str] | None:
        """Split an upper-case text into base and quote asset.

        The text is a listed pair, or a text that ends in a known quote asset.
        """
        if (found := self.pairs.get(text)) is not None:
            return found
        for quote in (*KNOWN_QUOTES, "USD"):
            base = text.removesuffix(quote)
            if base != text and 2 <= len(base) <= 12 and base.isalnum():
                return base, quote
        return None
