"""Keys are shown masked, secrets never."""

import copy
import pickle
import re
import traceback

import pytest

from mcp_binance_server.domain.access import Credentials, key_id, mask
from mcp_binance_server.exchange.signing import Principal
from support.requirement import requirement

KEY = "AbCd" + "x" * 56 + "WxYz"
SECRET = "s3cr3t" * 10


@requirement("ruling/24")
@pytest.mark.parametrize(
    ("key", "shown"), [(KEY, "AbCd****WxYz"), ("A" * 16, "AAAA****AAAA"), ("A" * 15, "****"), ("", "****")]
)
def test_a_key_is_shown_by_its_ends_and_a_short_one_not_at_all(key: str, shown: str) -> None:
    assert mask(key) == shown


def test_no_way_of_printing_credentials_shows_them() -> None:
    credentials = Credentials(KEY, SECRET)

    shown = f"{credentials} {credentials!r} {[credentials]} {credentials!s}"

    assert KEY[:9] not in shown
    assert SECRET[:9] not in shown
    assert shown.count("AbCd****WxYz") == 4


def test_credentials_refuse_to_be_pickled() -> None:
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(Credentials(KEY, SECRET))
    with pytest.raises(TypeError, match="pickled"):
        copy.deepcopy(Credentials(KEY, SECRET))


def fail_with(credentials: Credentials) -> None:
    raise RuntimeError(f"something about {credentials}")


def test_a_traceback_with_local_variables_shows_no_secret() -> None:
    with pytest.raises(RuntimeError) as caught:
        fail_with(Credentials(KEY, SECRET))

    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert "credentials = Credentials(AbCd****WxYz)" in shown
    assert KEY[:9] not in shown
    assert SECRET[:9] not in shown


def test_a_pem_is_told_from_a_plain_secret() -> None:
    assert Credentials(KEY, "-----BEGIN PRIVATE KEY-----\n…").is_pem
    assert not Credentials(KEY, SECRET).is_pem


def test_a_key_has_a_name_that_stays_the_same_and_tells_nothing_of_it() -> None:
    names = {key_id(KEY[:length]) for length in range(1, len(KEY) + 1)}

    # Operators have written it into their files: the way it is made can never change.
    assert Credentials(KEY, SECRET).key_id == key_id(KEY) == "k-amsjlczqgwguegmk"
    assert Principal.of(Credentials(KEY, "another secret")).key_id == key_id(KEY)
    assert len(names) == len(KEY)
    assert all(re.fullmatch(r"k-[a-z2-7]{16}", each) for each in names)
