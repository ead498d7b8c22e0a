"""What a vault holds is seen by its owner alone, and by nobody after it is wiped."""

import copy
import pickle
from dataclasses import asdict

import pytest

from mcp_binance_server.domain.access import Credentials, Vault
from sessions.conftest import House

KEY, SECRET = "vaultKeyQ7" * 6, "vaultSecretZ3" * 5


def windows(secret: str) -> list[str]:
    return [secret[at : at + 9] for at in range(len(secret) - 8)]


@pytest.fixture
def credentials() -> Credentials:
    return Credentials(api_key=KEY, secret=SECRET)


def test_a_vault_gives_what_it_holds_until_it_is_wiped(credentials: Credentials) -> None:
    vault = Vault(credentials)
    assert vault.read() is credentials

    vault.wipe()
    vault.wipe()

    assert vault.read() is None


def test_a_vault_shows_only_whether_it_is_empty(credentials: Credentials) -> None:
    assert repr(Vault(credentials)) == str(Vault(credentials)) == "Vault(****)"
    assert repr(Vault[str]()) == "Vault(empty)"


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_vault_cannot_be_pickled_or_copied(credentials: Credentials, copier: object) -> None:
    assert callable(copier)

    with pytest.raises(TypeError, match="Vault"):
        copier(Vault(credentials))


@pytest.mark.anyio
async def test_a_session_shows_neither_its_credentials_nor_an_id_that_could_be_used(
    house: House, credentials: Credentials
) -> None:
    session = await house.enter(credentials=credentials)

    shown = f"{session!r} {session} {session.label} {house.registry!r} {house.registry.snapshot()}"

    assert session.credentials is credentials
    assert not any(window in shown for secret in (KEY, SECRET) for window in windows(secret))
    assert session.connection_id not in shown
    assert session.connection_id[:8] in shown
    for copier in (pickle.dumps, copy.deepcopy, asdict):
        with pytest.raises(TypeError, match="Vault"):
            copier(session)
