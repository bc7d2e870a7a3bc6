"""The hash of results, by which peers are compared."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.digest import digest, digest_at_rows
from benchmarks.queries.data import CLOSING_KEY


def test_results_hash_alike_whatever_their_order_files_and_type_of_time(tmp_path: Path) -> None:
    def results(keys: list[int], unit: str) -> pa.Table:
        start = pa.array(keys, pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp(unit))
        return pa.table(
            {"k": keys, "start": start, "end": start, "n": keys, "s": [0.0] * len(keys)}
        )

    for name, parts in {"one": [[1, 2, 3]], "two": [[3, CLOSING_KEY], [2, 1]]}.items():
        (tmp_path / name).mkdir()
        for number, keys in enumerate(parts):
            unit = "us" if name == "one" else "ms"
            pq.write_table(results(keys, unit), tmp_path / name / f"part-{number}")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    assert digest(tmp_path / "one")[0] == 3


def test_the_rows_of_one_window_of_several_hash_as_those_of_the_window_alone(
    tmp_path: Path,
) -> None:
    def write(folder: Path, rows: list[tuple[int, int, int, str]], *, ids: bool = True) -> None:
        folder.mkdir(parents=True)
        keys, starts, ends, names = zip(*rows, strict=True)
        table = pa.table(
            {"k": keys, "start": _seconds(starts), "end": _seconds(ends), "n": keys}
            | ({"window_id": names} if ids else {})
        )
        pq.write_table(table, folder / "part-0")

    minutes = [(1, 0, 60, "minute"), (1, 60, 120, "minute"), (CLOSING_KEY, 600, 660, "minute")]
    hours = [(1, 0, 3_600, "hour")]
    write(tmp_path / "all", hours + minutes)
    write(tmp_path / "alone", minutes, ids=False)
    write(tmp_path / "separate" / "minute", minutes)
    write(tmp_path / "separate" / "hour", hours)
    write(tmp_path / "other" / "minute", minutes)
    write(tmp_path / "other" / "hour", [(1, 0, 3_600, "minute")])
    assert digest(tmp_path / "all", "minute") == digest(tmp_path / "alone")
    assert digest(tmp_path / "all", "minute")[0] == 2
    assert digest(tmp_path / "all", "hour")[0] == 1
    assert digest(tmp_path / "all", "day")[0] == 0
    assert digest(tmp_path / "all") == digest(tmp_path / "separate")
    assert digest(tmp_path / "all") != digest(tmp_path / "other")


def test_results_at_rows_hash_as_those_of_a_system_with_a_result_for_each_row(
    tmp_path: Path,
) -> None:
    def write(name: str, **columns: Sequence[int]) -> Path:
        (tmp_path / name).mkdir()
        times = {key: _seconds(columns.pop(key)) for key in ("ts", "start", "end") & columns.keys()}
        pq.write_table(pa.table(columns | times), tmp_path / name / "part-0")
        return tmp_path / name

    # Two rows of key 1 have the same time. Key 2 has a row where a row of key 1 leaves.
    given = write("given", k=[1, 1, 1, 2, CLOSING_KEY], ts=[100, 100, 130, 160, 999])
    ours = write(
        "ours",
        k=[1, 1, 1, 1, 2, 2, CLOSING_KEY],
        start=[40, 70, 100, 130, 100, 160, 939],
        end=[100, 130, 160, 190, 160, 220, 999],
        n=[2, 3, 1, 0, 1, 0, 1],
    )
    theirs = write(
        "theirs",
        k=[1, 1, 2, 1, CLOSING_KEY],
        start=[40, 40, 100, 70, 939],
        end=[100, 100, 160, 130, 999],
        n=[2, 2, 1, 3, 1],
    )
    wrong = write("wrong", k=[1, 2, 1], start=[40, 100, 70], end=[100, 160, 130], n=[2, 1, 2])
    assert digest_at_rows(given, ours)[0] == 3
    assert digest_at_rows(given, ours) == digest_at_rows(given, theirs)
    assert digest_at_rows(given, ours) != digest_at_rows(given, wrong)
    assert digest(ours) != digest(theirs)
    assert digest_at_rows(given, tmp_path / "none") == (0, "")


def _seconds(values: Sequence[int]) -> pa.Array:
    return pa.array(values, pa.timestamp("s"))
