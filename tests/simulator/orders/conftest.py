"""Traders at a simulated exchange."""

import httpx2
import pytest

from binance_simulator.account import DemoAccount, KeyRights
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from support.trader import Trader


@pytest.fixture
def trader(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> Trader:
    """The first account, with a key that may trade."""
    exchange.rights = KeyRights(trading=True)
    return Trader(api, exchange, exchange.account)


@pytest.fixture
def guest(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> Trader:
    """A second account with money of its own."""
    exchange.rights = KeyRights(trading=True)
    account = DemoAccount(1_000)
    held = (Balance("USDT", "50000.00000000", "0.00000000"), Balance("BTC", "1.00000000", "0.00000000"))
    exchange.guests.append(Guest(account, Portfolio(held)))
    return Trader(api, exchange, account)
