"""Prices, quantities and assets. Money is `Decimal`."""

from collections.abc import Mapping
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache
from types import MappingProxyType
from typing import NewType

Price = NewType("Price", Decimal)
Quantity = NewType("Quantity", Decimal)
EXACT_DIGITS = 100
BPS_OF_PERCENT = 100
_WIDE = Context(prec=EXACT_DIGITS)

# Stablecoins in the order of the specification. Without a market, each is valued at one USDT.
STABLECOINS = ("USDT", "USDC", "FDUSD", "TUSD", "USDP", "DAI", "BUSD")

ASSET_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "BTC": "Bitcoin",
        "ETH": "Ethereum",
        "USDT": "Tether",
        "BNB": "Binance Coin",
        "SOL": "Solana",
        "XRP": "XRP",
        "USDC": "USD Coin",
        "DOGE": "Dogecoin",
        "ADA": "Cardano",
        "TRX": "TRON",
        "AVAX": "Avalanche",
        "LINK": "Chainlink",
        "DOT": "Polkadot",
        "POL": "Polygon",
        "LTC": "Litecoin",
        "BCH": "Bitcoin Cash",
        "SHIB": "Shiba Inu",
        "TON": "Toncoin",
        "XLM": "Stellar",
        "ATOM": "Cosmos",
        "UNI": "Uniswap",
        "ETC": "Ethereum Classic",
        "NEAR": "NEAR Protocol",
        "APT": "Aptos",
        "SUI": "Sui",
        "ARB": "Arbitrum",
        "OP": "Optimism",
        "FIL": "Filecoin",
        "ICP": "Internet Computer",
        "AAVE": "Aave",
        "PEPE": "Pepe",
        "FDUSD": "First Digital USD",
        "TUSD": "TrueUSD",
        "USDP": "Pax Dollar",
        "DAI": "Dai",
        "BUSD": "Binance USD",
    }
)


def floor_to_step(quantity: Quantity, step: Quantity) -> Quantity:
    """Round down to the exchange's lot step. It never rounds up: an order must not grow."""
    if not step:  # a step of zero means that the exchange sets no step
        return quantity
    with localcontext() as exact:
        exact.prec = EXACT_DIGITS  # with the default precision of 28 digits a long quotient could round up
        return Quantity((quantity / step).to_integral_value(ROUND_DOWN) * step)


@lru_cache(maxsize=1024)  # called with the same few steps for every number of a page
def decimals_of(step: Decimal) -> int:
    """Return the number of decimals of a tick or step: 0.01000000 has two."""
    exponent = step.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def round_to_places(value: Decimal, places: int) -> Decimal:
    """Round half to even, like all pages."""
    # The ratio of two exchange numbers can have more than 28 digits, the default precision.
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, _WIDE)


def written(amount: Decimal) -> str:
    """Format an amount in full, without an exponent and without trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def name_of(asset: str) -> str:
    """Return the common name of an asset, or its code if none is known."""
    return ASSET_NAMES.get(asset, asset)


def percent_of(bps: int) -> Decimal:
    """Return a number of basis points in percent."""
    return Decimal(bps) / BPS_OF_PERCENT
