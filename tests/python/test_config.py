from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import transom
from tests.python.conditions import raises
from transom import config

CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
LOCAL_FS = "spark.hadoop.fs.AbstractFileSystem.file.impl"
BUFFERS = "spark.shuffle.streaming.networkBufferMaxWaitTimeMs"
COUNTING = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


@pytest.fixture(autouse=True)
def jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A package with a jar, on a machine without other settings."""
    (tmp_path / "jars").mkdir()
    path = tmp_path / "jars" / "transom.jar"
    path.touch()
    monkeypatch.setattr(config, "__file__", str(tmp_path / "config.py"))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    return str(path)


EXTENSION = {"spark.sql.extensions": "transom.spark.Extensions"}


def builder(**settings: str) -> SparkSession.Builder:
    return SparkSession.Builder().config(map={**settings})


def test_a_session_gets_the_jar_and_a_state_store(jar: str) -> None:
    given = builder()
    assert transom.configure(given) is given
    assert given._options == {
        "spark.jars": jar,
        config.PROVIDER: config.ROCKSDB,
        CHANGELOG: "true",
        COUNTING: "false",
        LOCAL_FS: "transom.spark.LocalFs",
        **EXTENSION,
    }


def test_a_jvm_that_runs_without_the_jar_keeps_its_file_system_and_functions(
    jar: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = {LOCAL_FS: "transom.spark.LocalFs", **EXTENSION}
    monkeypatch.setattr(config, "_jvm_runs", lambda: True)
    for given in ({}, {"spark.jars": jar}):
        assert not loaded.keys() & transom.configure(builder(**given))._options.keys()
    (tmp_path / "spark-defaults.conf").write_text(f"spark.jars one.jar,file:{jar}\n")
    assert loaded.items() <= transom.configure(builder())._options.items()


def test_the_jar_joins_others(jar: str) -> None:
    made = transom.configure(builder(**{"spark.jars": "one.jar,two.jar"}))
    assert made._options["spark.jars"] == f"one.jar,two.jar,{jar}"


def test_configuring_twice_is_configuring_once() -> None:
    once = transom.configure(builder(**{"spark.jars": "one.jar"}))
    twice = transom.configure(transom.configure(builder(**{"spark.jars": "one.jar"})))
    assert once._options == twice._options


@pytest.mark.parametrize("scheme", ["file://", "file:"])
def test_the_jar_of_a_session_that_runs_is_not_added_again(
    jar: str, tmp_path: Path, scheme: str
) -> None:
    # Spark shows the paths of local jars as URLs.
    jars = f"{scheme}{jar.replace('test', '%74est')},one.jar"
    (tmp_path / "spark-defaults.conf").write_text(f"spark.jars {jars}\n")
    assert transom.configure(builder())._options["spark.jars"] == jars


def test_what_the_user_chose_stays() -> None:
    chosen = {config.PROVIDER: config.ROCKSDB, CHANGELOG: "false", COUNTING: "true"}
    made = transom.configure(builder(**chosen))
    assert {name: made._options[name] for name in chosen} == chosen


def test_another_state_store_stays_and_rocksdb_is_not_set_up() -> None:
    made = transom.configure(builder(**{config.PROVIDER: "org.acme.Store"}))
    assert made._options[config.PROVIDER] == "org.acme.Store"
    assert CHANGELOG not in made._options


def test_what_stands_in_the_defaults_file_counts_as_chosen(jar: str, tmp_path: Path) -> None:
    lines = f"# ours\n\nspark.jars  one.jar\n{config.PROVIDER}=org.acme.Store\nspark.empty\n"
    (tmp_path / "spark-defaults.conf").write_text(lines)
    made = transom.configure(builder())
    assert made._options == {
        "spark.jars": f"one.jar,{jar}",
        LOCAL_FS: "transom.spark.LocalFs",
        **EXTENSION,
    }


@pytest.mark.parametrize("line", ["spark.jars =", "spark.jars"])
def test_a_setting_without_a_value_counts_as_not_chosen(
    jar: str, tmp_path: Path, line: str
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(line)
    assert transom.configure(builder())._options["spark.jars"] == jar


@pytest.mark.parametrize("line", ["spark.jars  /v=3/x.jar", "spark.jars: /v=3/x.jar"])
def test_a_line_of_the_defaults_file_is_read_as_java_does(
    jar: str, tmp_path: Path, line: str
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(line)
    assert transom.configure(builder())._options["spark.jars"] == f"/v=3/x.jar,{jar}"


def test_arguments_of_submit_count_as_chosen(jar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = f"--jars 'one two.jar' --conf {COUNTING}=true pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    made = transom.configure(builder())
    assert made._options["spark.jars"] == f"one two.jar,{jar}"
    assert COUNTING not in made._options
    assert made._options[CHANGELOG] == "true"


@pytest.mark.parametrize(
    "arguments",
    [
        "--jars=one.jar",
        "--conf spark.jars=one.jar",
        "--conf=spark.jars=one.jar",
        "-c spark.jars=one.jar",
    ],
)
def test_each_form_of_an_argument_of_submit_counts(
    jar: str, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{arguments} pyspark-shell")
    assert transom.configure(builder())._options["spark.jars"] == f"one.jar,{jar}"


def test_spark_starts_with_the_jars_of_its_arguments_alone(
    jar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, has_extension in [
        ("--jars one.jar", False),
        ("--conf spark.jars=one.jar", False),
        (f"--jars one.jar,{jar}", True),
        ("--packages one:two:3", True),
    ]:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{arguments} pyspark-shell")
        made = transom.configure(builder())
        assert (EXTENSION.items() <= made._options.items()) == has_extension, arguments


def test_a_file_given_to_submit_replaces_the_defaults(
    jar: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.jars one.jar\n")
    (tmp_path / "mine.conf").write_text("spark.jars two.jar\n")
    arguments = f"--properties-file '{tmp_path}/mine.conf' pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    assert transom.configure(builder())._options["spark.jars"] == f"two.jar,{jar}"


def test_a_package_without_its_jar_says_what_to_do(jar: str) -> None:
    Path(jar).unlink()
    with raises("JAR_MISSING"):
        transom.jar_path()
    with raises("JAR_MISSING"):
        transom.configure(builder())


def test_only_a_builder_can_be_configured() -> None:
    with raises("BAD_TYPE", "builder"):
        transom.configure({"spark.jars": ""})  # type: ignore[arg-type]


def test_a_connect_server_in_this_process_gets_extension_and_plugin(jar: str) -> None:
    given = {"spark.remote": "local[2]", "spark.sql.extensions": "org.acme.Extensions"}
    made = transom.configure(builder(**given))
    assert made._options["spark.jars"] == jar
    assert made._options["spark.sql.extensions"] == "org.acme.Extensions,transom.spark.Extensions"
    plugins = "spark.connect.extensions.relation.classes"
    assert made._options[plugins] == "transom.spark.ConnectRelations"
    assert transom.configure(made)._options == made._options


def test_a_client_sets_only_the_state_store_of_a_server_elsewhere() -> None:
    made = transom.configure(builder(**{"spark.remote": "sc://host"}))
    assert made._options == {
        "spark.remote": "sc://host",
        config.PROVIDER: config.ROCKSDB,
        CHANGELOG: "true",
        COUNTING: "false",
    }


@pytest.fixture
def spark43(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.3.0")


@pytest.mark.usefixtures("spark43")
def test_tasks_of_real_time_queries_do_not_wait_for_full_buffers() -> None:
    plain = transom.configure(builder())._options
    made = transom.configure(builder(), real_time=True)
    assert made._options == {**plain, BUFFERS: "1"}
    chosen = transom.configure(builder(**{BUFFERS: "5"}), real_time=True)
    assert chosen._options[BUFFERS] == "5"


@pytest.mark.usefixtures("spark43")
def test_a_server_elsewhere_has_its_buffers_already() -> None:
    made = transom.configure(builder(**{"spark.remote": "sc://host"}), real_time=True)
    assert BUFFERS not in made._options


def test_real_time_needs_a_version_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.2.0")
    with raises("REAL_TIME_SPARK"):
        transom.configure(builder(), real_time=True)
    assert BUFFERS not in transom.configure(builder())._options


def test_real_time_is_a_flag() -> None:
    with raises("BAD_TYPE", "real_time"):
        transom.configure(builder(), real_time="1 minute")  # type: ignore[arg-type]


@pytest.mark.usefixtures("spark43")
@pytest.mark.parametrize("master", ["local", "local[1]", "local[2]", "local[2,4]"])
def test_a_source_needs_a_slot_besides_the_shuffle_partitions(master: str) -> None:
    given = builder(**{"spark.master": master, "spark.sql.shuffle.partitions": "2"})
    with raises("REAL_TIME_SLOTS"):
        transom.configure(given, real_time=True)
    transom.configure(given)


@pytest.mark.usefixtures("spark43")
@pytest.mark.parametrize(
    ("master", "partitions"),
    [("local[3]", "2"), ("local[*]", "1"), ("local[1]", ""), ("", "200"), ("spark://host", "200")],
)
def test_enough_slots_and_unknown_ones_are_taken(
    monkeypatch: pytest.MonkeyPatch, master: str, partitions: str
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    known = {"spark.master": master, "spark.sql.shuffle.partitions": partitions}
    given = builder(**{name: value for name, value in known.items() if value})
    assert transom.configure(given, real_time=True)._options[BUFFERS] == "1"
