"""The table of settings that exclude each other."""

import json
from pathlib import Path
from typing import Any

import pytest

import transom
from tests.python.conditions import raises
from tests.python.unbound import NUMBER
from transom._base.exclusions import Exclusion, exclusion, exclusions
from transom.spec import Apply, WindowSpec
from transom.spec.times.idle_timeout import IdleTimeout
from transom.spec.window_spec import IS_SET
from transom.spec.windows.several import members_of

FILE = Path(__file__).parents[2] / "spec/exclusions.json"
MINUTE = transom.Tumbling(size="1 minute")
HOURS: dict[str, Any] = {
    "window": transom.Tumbling(size="1 hour"),
    "time": transom.TimePolicy("at"),
}
# A value of each setting of the table.
GIVEN: dict[str, dict[str, Any]] = {
    "trigger": {"trigger": transom.AfterLateness()},
    "after_clock": {"trigger": transom.AfterClock()},
    "every_batch": {"trigger": transom.EveryBatch()},
    "purging": {"trigger": transom.AfterWatermark(early=transom.Purging(transom.AfterCount(5)))},
    "evictor": {"evictor": transom.KeepLast(5)},
    "retract": {"retract": True},
    "apply": {"function": Apply(schema=NUMBER, form="arrow")},
    "apply_rows": {"function": Apply(schema=NUMBER, form="arrow")},
    "window_state": {"function": Apply(schema=NUMBER, form="arrow", window_state=NUMBER)},
    "allowed_lateness": {"allowed_lateness": "1 second"},
    "idle_timeout": {"idle_timeout": IdleTimeout(after="1 minute", rule="last_row")},
    "slices": {"layout": "slices"},
    "watermarks": {"watermarks": True},
    "point_policy": {"output_policy": "point_align_to_window_end"},
    "clip_policy_off_grid": {
        "output_policy": "clip_to_window_end",
        "window": transom.Session(gap="1 minute"),
    },
    "changes_only": {"changes_only": True},
    "lifetime": {"lifetime": transom.Lifetime("landed")},
    "lifetime_id": {"lifetime": transom.Lifetime("landed", id=["flight"])},
    "no_event_time": {"time": transom.ProcessingTime()},
    "arrival_time": {"time": transom.TimePolicy(None, arrival="at")},
    "substreams": {"time": transom.TimePolicy("at", over=["key"])},
    "stagger": {"window": transom.Tumbling(size="1 hour", stagger="random")},
    "max_duration": {"window": transom.Session(gap="1 minute", max_duration="1 hour")},
    "count": {"window": transom.Count(size=9)},
    "partial_count": {"window": transom.Count(size=9, partial=True)},
    "global": {"window": transom.Global()},
    "windows": {"window": transom.Windows([MINUTE])},
    "snapshot": {"window": transom.Snapshot()},
    "count_by_start": {"window": transom.CountByStart(2)},
    "swept": {"window": transom.Rolling("10 minutes")},
    "points": {"window": transom.Session(gap="1 minute")},
    "without_window_before": {"window": transom.Custom(windows="shifts")},
}


def spec_with(*names: str) -> WindowSpec:
    """A spec with settings of the table. A later one wins."""
    given = dict(HOURS)
    for name in names:
        given |= GIVEN[name]
    return WindowSpec(**given)


def pair_of(pair: Exclusion) -> str:
    return f"{pair.setting}, {pair.other}"


def test_each_setting_of_the_table_is_known_and_excludes_another_one() -> None:
    settings = set(json.loads(FILE.read_text("utf-8"))["settings"])
    assert set(IS_SET) == settings
    assert {name for pair in exclusions() for name in pair[:2]} == settings


def test_each_pair_excludes_in_one_row_and_one_direction() -> None:
    pairs = [frozenset(pair[:2]) for pair in exclusions()]
    assert len(set(pairs)) == len(pairs)


def test_a_row_has_settings_that_the_message_names() -> None:
    table = json.loads(FILE.read_text("utf-8"))
    fields = {name for name, setting in table["settings"].items() if "field" in setting}
    for row in table["exclusions"]:
        assert set(row["settings"]) <= fields or set(row["others"]) <= fields


@pytest.mark.parametrize("name", IS_SET)
def test_one_setting_alone_is_allowed(name: str) -> None:
    spec = spec_with(name)
    (window,) = members_of(spec.window)
    assert IS_SET[name](spec, window)
    assert not IS_SET[name](spec_with(), HOURS["window"])


@pytest.mark.parametrize("pair", exclusions(), ids=pair_of)
def test_each_pair_of_the_table_is_refused(pair: Exclusion) -> None:
    with raises(pair.condition) as caught:
        spec_with(pair.other, pair.setting)
    given = {**GIVEN[pair.other], **GIVEN[pair.setting]}
    window = type(given.get("window", HOURS["window"])).__name__
    step, other, why = (text.replace("<window>", window) for text in pair[3:])
    if pair.condition == "CONFLICT":
        argument = step.removesuffix("()")
        expected = {"argument": argument, "step": step, "other": other, "why": why}
        assert caught.value.getMessageParameters() == expected
    else:
        assert caught.value.getMessageParameters() == {"argument": other}


def test_an_error_may_name_another_argument() -> None:
    with raises("CONFLICT", "lifetime"):
        raise exclusion("lifetime_id", "arrival_time").error(argument="lifetime")
