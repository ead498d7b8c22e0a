"""Types of settings, such as addresses, lists and folders. Each type validates its value."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, SecretStr, StringConstraints


def _http_address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("must start with http:// or https://")
    return url.rstrip("/")


def _stream_address(url: str) -> str:
    if not url.startswith(("ws://", "wss://")):
        raise ValueError("must start with ws:// or wss://")
    return url.rstrip("/")


def _state_address(url: SecretStr) -> SecretStr:
    bare = url.get_secret_value().strip()
    if bare != "memory://" and not bare.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("must be memory:// or start with redis://, rediss:// or unix://")
    return SecretStr(bare)


def _listed(text: object) -> object:
    return tuple(part.strip().lower() for part in text.split(",") if part.strip()) if isinstance(text, str) else text


def _are_symbols(words: tuple[str, ...]) -> tuple[str, ...]:
    if not all(each.isalnum() for each in words):
        raise ValueError("must be symbols such as BTCUSDT, separated by commas")
    return tuple(dict.fromkeys(words))


def _folder_or_off(text: object) -> object:
    if not isinstance(text, str):
        return text
    if text.strip().lower() == "off":
        return None
    folder = Path(text.strip())
    if not folder.is_absolute():
        raise ValueError("must be an absolute path, or off")
    return folder


def _absolute(folder: Path) -> Path:
    if not folder.is_absolute():
        raise ValueError("must be an absolute path")
    return folder


def _upper(text: object) -> object:
    return text.strip().upper() if isinstance(text, str) else text


ChartPlan = Annotated[Literal["BASIC", "PRO", "MEGA", "ULTRA", "ENTERPRISE"], BeforeValidator(_upper)]
Toolset = Literal["market", "account", "orders", "analysis", "charts", "guide", "derivatives", "trade"]
Toolsets = Annotated[tuple[Toolset | Literal["essential"], ...], BeforeValidator(_listed)]
Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Symbols = Annotated[Words, AfterValidator(_are_symbols)]
TradingFolder = Annotated[Path, AfterValidator(_absolute)]
StateFolder = Annotated[Path | None, BeforeValidator(_folder_or_off)]
Trimmed = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Address = Annotated[Trimmed, AfterValidator(_http_address)]
StateAddress = Annotated[SecretStr, AfterValidator(_state_address)]
StreamAddress = Annotated[Trimmed, AfterValidator(_stream_address)]
