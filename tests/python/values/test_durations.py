from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.python.conditions import raises
from transom._base.durations import duration, duration_text, micros, not_negative, positive

# Far below the 106,751,991 days that 64 bits of microseconds hold.
LONGEST = timedelta(days=10_000_000)
lengths = st.timedeltas(min_value=-LONGEST, max_value=LONGEST)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1 hour 30 minutes", timedelta(minutes=90)),
        ("2 weeks 1 day", timedelta(days=15)),
        ("1 second 1 millisecond 1 microsecond", timedelta(seconds=1, microseconds=1001)),
        ("interval 5 minutes", timedelta(minutes=5)),
        ("INTERVAL 5 Minutes", timedelta(minutes=5)),
        ("  10\tseconds\n", timedelta(seconds=10)),
        ("-5 minutes", timedelta(minutes=-5)),
        ("- 5 minutes", timedelta(minutes=-5)),
        ("+1 hour -1 minute", timedelta(minutes=59)),
        ("1.5 seconds", timedelta(milliseconds=1500)),
        ("-.000001 second", timedelta(microseconds=-1)),
        ("1. second", timedelta(seconds=1)),
        ("0.123456000 seconds", timedelta(microseconds=123456)),
        ("0 days", timedelta()),
        ("1 hours", timedelta(hours=1)),
        ("60 seconds 1 minute", timedelta(minutes=2)),
    ],
)
def test_text_is_read_as_spark_reads_intervals(text: str, length: timedelta) -> None:
    assert duration("size", text) == length


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("interval", "number"),
        ("interval ", "number"),
        ("5", "number and a unit"),
        ("minutes", "number and a unit"),
        ("5minutes", "no space between number and unit in '5minutes'"),
        ("1 hour30 minutes", "no space before"),
        ("1 hour,30 minutes", "no space before"),
        ("1 hour -", "number and a unit"),
        (". seconds", "number and a unit"),
        ("PT1H", "number and a unit"),
        ("1 fortnight", "'fortnight'"),
        ("1 h", "'h'"),
        ("5 s", "'s'"),
        ("1 month", "month has no fixed length"),
        ("2 quarters", "quarter has no fixed length"),
        ("1 hour 1 year", "year has no fixed length"),
        ("1.5 minutes", "only seconds"),
        ("1.0000001 seconds", "microsecond"),
        ("1 nanosecond", "'nanosecond'"),
        ("10000000 days 1 microsecond", "longer than 10,000,000 days"),
        ("106751991 days", "longer than 10,000,000 days"),
        ("-100000000 days", "longer than 10,000,000 days"),
        ("99999999999999999 weeks", "longer than 10,000,000 days"),
        ("٣ minutes", "number and a unit"),
    ],
)
def test_other_text_is_no_duration(text: str, why: str) -> None:
    with raises("BAD_DURATION", "slide"):
        duration("slide", text)
    with pytest.raises(Exception, match=why):
        duration("slide", text)


@pytest.mark.parametrize("value", [5, 1.5, None, b"1 hour", True])
def test_only_text_and_timedeltas_are_durations(value: object) -> None:
    with raises("BAD_TYPE", "size"):
        duration("size", value)  # type: ignore[arg-type]


def test_a_timedelta_beyond_the_longest_is_refused() -> None:
    assert duration("size", LONGEST) == LONGEST
    with raises("BAD_DURATION", "size"):
        duration("size", LONGEST + timedelta(microseconds=1))


def test_signs_are_checked_where_they_matter() -> None:
    with raises("NOT_POSITIVE", "gap"):
        positive("gap", "0 seconds")
    with raises("NEGATIVE", "delay"):
        not_negative("delay", "-1 microsecond")
    assert not_negative("delay", "0 seconds") == timedelta()


@given(lengths)
def test_a_length_is_shown_as_text_that_means_it(length: timedelta) -> None:
    assert duration("size", duration_text(length)) == length


@given(lengths)
def test_microseconds_are_exact(length: timedelta) -> None:
    assert timedelta(microseconds=micros(length)) == length
