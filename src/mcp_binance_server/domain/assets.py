"""What well-known assets are called, and which of them promise to be a dollar."""

from collections.abc import Mapping
from types import MappingProxyType

# In the order they were given; all but USDT are valued at par when they have no market.
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


def name_of(asset: str) -> str:
    """Return what people call an asset, its code when nobody told us."""
    return ASSET_NAMES.get(asset, asset)
