"""The long run of calm hours, for three minutes: the server follows a made-up book and judges nothing yet."""

from calibration.hours import listen
from calibration.zero_intelligence import REGIMES


async def test_the_first_minutes_of_a_calm_market_are_not_judged() -> None:
    heard = await listen(REGIMES[2], hours=3 / 60, seed=53)

    assert heard.asked == 36
    assert not heard.judged
    assert not heard.words
    assert not heard.stress
