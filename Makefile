# Everything that is done with this project, on a machine with Python 3.11, JDK 17, Maven and make.
# Each target installs what it needs, into .venv and sbt's caches, and does nothing twice.

.DEFAULT_GOAL := help
SHELL := bash
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.NOTPARALLEL:

VERSION := $(shell sed -n 's/^ThisBuild \/ version := "\(.*\)"/\1/p' build.sbt)

# The PySpark to test with: 4.2 or 4.3, each in an environment of its own.
SPARK ?= 4.2
PYSPARK_4.2 := 4.2.0
PYSPARK_4.3 := 4.3.0
VENV := $(if $(filter 4.2,$(SPARK)),.venv,.venv-spark$(subst .,,$(SPARK)))
BIN := $(VENV)/bin
READY := $(VENV)/.ready

JAR := python/transom/jars/transom.jar
# Only tests use it: a file manager that crashes queries at their durable writes, and a quick local
# file system.
CRASHING := build/crashing.jar
WHEEL := dist/transom-$(VERSION)-py3-none-any.whl
SDIST := dist/transom-$(VERSION).tar.gz
# Folders too: their time changes when a file goes.
JVM_SOURCES := build.sbt LICENSE spec/error-conditions.json spec/sql-functions.json $(wildcard project/*.*) $(shell find jvm/engine/src/main jvm/spark/src/main)
PYTHON_SOURCES := pyproject.toml README.md LICENSE $(shell find python -name '*.py' -o -name '*.json' -o -name py.typed)

# Flink has an environment of its own: it needs libraries in versions that PySpark does not take.
FLINK_VERSION := 2.3.0
FLINK_VENV := .venv-flink
FLINK_READY := $(FLINK_VENV)/.ready-$(FLINK_VERSION)
CORES ?= 2
# GB of heap that each peer's JVM has.
HEAP ?= 4
# What Nexmark's events are read from: parquet or kafka.
SOURCE ?= parquet
# How the crash sweep disturbs each query, besides a crash at each durable write.
SWEEP ?= --pairs 4 --halts 5 --kills 1

# The workers of the cluster in tests have a Python of their own, made from the wheel. PySpark is
# Spark's, as on any cluster.
CLUSTER_VENV := build/cluster/environment
CLUSTER_LIBRARIES := build/cluster/.libraries
CLUSTER_READY := build/cluster/.ready

# The object store in tests: an S3 server from PyPI, and Hadoop's client of S3.
STORE := build/object-store
HADOOP_AWS := org.apache.hadoop:hadoop-aws:3.5.0
AWS_SDK := software.amazon.awssdk:bundle:2.35.4
AWS_ACCELERATOR := software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1
STORE_READY := $(STORE)/.ready-hadoop-3.5.0

# Spark's Connect client for the JVM, with its dependencies.
JVM_CLIENT := build/jvm-client
JVM_CLIENT_READY := $(JVM_CLIENT)/.ready-$(PYSPARK_$(SPARK))

# dbt has an environment of its own, because it needs many libraries.
DBT := build/dbt
DBT_READY := $(DBT)/.ready

VECTORS ?= tests/conformance
LEVEL ?= all

define FIND_PYTHON
for python in python3 python3.14 python3.13 python3.12 python3.11 none; do \
  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
done; \
[ "$$python" != none ] || { echo "No python3 on the PATH is Python 3.11 or newer: install one." >&2; exit 1; }
endef

# The end-to-end tests that also run in a Spark Connect session.
CONNECTED := $(addprefix tests/end_to_end/,aggregates/test_reduce.py connect/test_flows.py \
  functions/test_outputs.py results/test_route.py setup/test_explain.py setup/test_watermarks.py \
  policies/test_stamped.py \
  triggers/test_drain.py::test_one_control_row_drains_operators_behind_each_other)

# sbt starts slowly, so the Scala tests check the form of the code first.
SCALA_FORM := scalafmtCheckAll scalafmtSbtCheck checkPythonVersion
TESTS := test-jvm conformance link-check test-packaging test-python test-e2e test-connect test-cluster \
  test-real-time

# Runs targets one after the other, then prints what each of them took.
define TIMED
took=; for target in $(1); do \
  start=$$SECONDS; $(MAKE) --no-print-directory $$target || exit 1; seconds=$$((SECONDS - start)); \
  took+="$$(printf '%-16s %3d min %02d s' $$target $$((seconds / 60)) $$((seconds % 60)))"$$'\n'; \
done; printf '%s%-16s %3d min %02d s\n' "$$took" 'all of them' $$((SECONDS / 60)) $$((SECONDS % 60))
endef

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# Spark's Python workers are this Python, and its jars are PySpark's, whatever else is installed.
export PYSPARK_PYTHON = $(abspath $(BIN)/python)
unexport PYSPARK_DRIVER_PYTHON SPARK_HOME SPARK_CONF_DIR PYTHONPATH

.PHONY: help setup build jar generate fmt lint lint-python types test test-jvm test-canary test-python test-e2e test-connect \
  test-connect-all test-packaging release-check test-cluster test-cluster-all test-object-store \
  test-real-time run-real-time real-time-kills run-real-time-kills \
  test-jvm-client test-dbt crash-sweep spec-check conformance link-check demo bench bench-peers \
  bench-nexmark bench-engine bench-open-keys bench-kafka bench-latency bench-real-time bench-pytest \
  bench-compare bench-commits bench-report docs pictures check check-long check-spark43 \
  upgrade-check upgrade-begin \
  upgrade-continue clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) $(JAR) ## Make .venv with PySpark 4.2, transom and its jar

build: $(WHEEL) $(SDIST) ## Build the jar, the wheel and the sdist, into dist

jar: $(JAR) ## Build the jar, into the Python package

generate: $(READY) ## Write what both languages take from spec
	$(BIN)/python -m spec.generate

fmt: $(READY) ## Format all code
	$(BIN)/ruff check --quiet --select I --fix .
	$(BIN)/ruff format .
	./sbt scalafmtAll scalafmtSbt

lint: lint-python ## Check the code's form, in both languages
	./sbt $(SCALA_FORM)

lint-python: $(READY) ## Check the form of the Python code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY) ## Check Python's types
	$(BIN)/mypy

test: $(TESTS) ## Run all tests

test-jvm: ## Check the form of the Scala code, and run its tests
	./sbt $(SCALA_FORM) engine/test spark/test benchmarks/compile

# Part of test-jvm too, which runs on the Spark that the Scala code is compiled with.
test-canary: $(READY) ## Run the tests of Spark's behaviour that transom relies on, on the jars of PySpark
	SPARK_JARS="$$($(BIN)/python -c 'import pyspark; print(pyspark.__path__[0])')/jars" \
	  ./sbt "spark/testOnly org.apache.spark.sql.transom.canary.*"

test-python: $(READY) ## Run the Python tests that need no JVM
	$(BIN)/pytest tests/python tests/time_model benchmarks/tests

# The files with the fewest tests, which xdist would start last, are among the slowest.
test-e2e: $(READY) $(JAR) $(CRASHING) ## Run the tests that start real queries, in two Sparks side by side
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder tests/end_to_end

test-connect: $(READY) $(JAR) $(CRASHING) ## Run a part of the end-to-end tests in a Spark Connect session
	SPARK_REMOTE='local[2]' $(BIN)/pytest --numprocesses 2 --dist loadfile $(CONNECTED)

test-real-time: ## Run queries and test vectors in Real-Time Mode, which needs PySpark 4.3
	@$(MAKE) --no-print-directory SPARK=4.3 run-real-time

run-real-time: $(READY) $(JAR) $(CRASHING)
	$(BIN)/pytest tests/end_to_end/real_time
	$(BIN)/python -m tests.conformance.run "$(VECTORS)" real-time

KILLS ?= 100

real-time-kills: ## Kill a query in Real-Time Mode again and again, print a table [KILLS=100]
	@$(MAKE) --no-print-directory SPARK=4.3 run-real-time-kills

run-real-time-kills: $(READY) $(JAR) $(CRASHING)
	$(BIN)/python -m tests.end_to_end.real_time.kills --kills $(KILLS)

# More generated cases would try the engine again, not the session.
test-connect-all: export TRANSOM_LONG :=
test-connect-all: $(READY) $(JAR) $(CRASHING) ## Run all end-to-end tests in a Spark Connect session
	SPARK_REMOTE='local[2]' $(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder tests/end_to_end

test-cluster: $(READY) $(CRASHING) $(CLUSTER_READY) ## Disturb three kinds of queries on a cluster of processes
	$(BIN)/pytest tests/cluster

test-cluster-all: $(READY) $(CRASHING) $(CLUSTER_READY) ## Disturb all kinds of queries on a cluster, print a table [CASE=a,b]
	$(BIN)/python -m tests.cluster --case "$(CASE)"

test-object-store: $(READY) $(JAR) $(STORE_READY) ## Kill a query whose checkpoint and results lie in an S3 server
	$(BIN)/pytest tests/object_store

test-jvm-client: $(READY) $(JAR) $(JVM_CLIENT_READY) ## Run windows from Java and Scala with Spark's Connect client
	$(BIN)/pytest tests/jvm_client

test-dbt: $(READY) $(JAR) $(DBT_READY) ## Run the dbt project of the examples
	$(BIN)/pytest tests/dbt

test-packaging: $(READY) $(WHEEL) $(SDIST) ## Check what is in the jar, the wheel and the sdist
	$(BIN)/pytest tests/packaging

release-check: export TRANSOM_RELEASE := 1
release-check: $(READY) $(WHEEL) $(SDIST) ## Check all that a release publishes, and install it in empty environments
	$(BIN)/twine check --strict $(WHEEL) $(SDIST)
	$(BIN)/pytest tests/packaging

spec-check: $(READY) ## Check that both languages read the message alike (so do their tests)
	$(BIN)/pytest tests/python/test_spec_cases.py tests/python/test_exclusions.py
	./sbt "engine/testOnly transom.engine.spec.* *.WindowsSuite" "spark/testOnly org.apache.spark.sql.transom.message.SpecCasesSuite"

conformance: $(READY) $(JAR) $(CRASHING) ## Run test vectors [VECTORS=folder] [LEVEL=engine|query|sql|all, or real-time with SPARK=4.3]
	$(BIN)/python -m tests.conformance.run "$(VECTORS)" "$(LEVEL)"

demo: $(READY) $(JAR) ## Replay a year of flights through windows
	$(BIN)/python -m examples.demo

bench: $(READY) $(JAR) ## Time Spark's own windows and ours [QUERY=name]
	$(BIN)/python -m benchmarks.queries $(QUERY)

bench-peers: $(READY) $(JAR) $(FLINK_READY) ## Time us and all peers, Flink too [QUERY=a,b] [PEER=x,y] [CORES=1,2] [HEAP=1,2]
	$(BIN)/python -m benchmarks.peers --query "$(QUERY)" --peer "$(PEER)" --cores "$(CORES)" --heap "$(HEAP)"

bench-nexmark: $(READY) $(JAR) $(FLINK_READY) ## Time Nexmark's queries [QUERY=q5,q7] [SOURCE=parquet|kafka] [PEER=x,y]
	$(BIN)/python -m benchmarks.nexmark --query "$(QUERY)" --source "$(SOURCE)" --peer "$(PEER)"

bench-engine: $(READY) ## Time the engine alone, window shape by window shape [LOOPS=pattern]
	@mkdir -p build
	./sbt "benchmarks/Jmh/run -prof gc -rf json -rff $(abspath build/jmh.json) $(LOOPS)"
	$(BIN)/python -m benchmarks.engine build/jmh.json

bench-open-keys: $(READY) $(JAR) ## Time small batches over many open keys, and over old state
	$(BIN)/python -m benchmarks.open_keys

bench-kafka: $(READY) $(JAR) ## Time Spark's source of Kafka by the size of polls, and how Spark parses JSON, CSV and Avro
	$(BIN)/python -m benchmarks.kafka

bench-latency: $(READY) $(JAR) $(FLINK_READY) ## Time from a window's end to its result
	$(BIN)/python -m benchmarks.latency

bench-real-time: $(READY) $(JAR) $(FLINK_READY) ## Time windows from Kafka to Kafka in Real-Time Mode and elsewhere: needs SPARK=4.3
	$(BIN)/python -m benchmarks.real_time

bench-pytest: $(READY) $(JAR) ## Time each query at a small size, and building specs and plans, by pytest
	$(BIN)/pytest benchmarks

bench-compare: $(READY) ## Tell whether transom became slower from one record to the next
	$(BIN)/python -m benchmarks.compare

bench-commits: $(READY) ## Tell whether one commit is slower than another: BEFORE=commit AFTER=commit [QUERY=a,b]
	$(BIN)/python -m benchmarks.commits "$(BEFORE)" "$(AFTER)" --query "$(QUERY)"

bench-report: $(READY) ## Write docs/performance.md and its pictures from all records
	$(BIN)/python -m benchmarks.report

crash-sweep: $(READY) $(JAR) $(CRASHING) ## Crash queries at each durable write, print a table [KIND=a,b] [SINK=files] [SWEEP=options]
	$(BIN)/python -m tests.end_to_end.restarts.crashes --kind "$(KIND)" --sink "$(SINK)" $(SWEEP)

link-check: $(READY) $(JAR) ## Prove that all the jar names exists in PySpark
	$(BIN)/pytest tests/link
	$(BIN)/python -m tests.link.check $(JAR)

docs: $(VENV)/.docs-ready ## Build the documentation, into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

pictures: $(READY) ## Draw the documentation's pictures
	$(BIN)/python -m docs.pictures.draw

# Worked examples run as one query each. Without it, and with TRANSOM_LONG, as one for each way to
# cut their rows into batches.
check: export TRANSOM_QUICK := $(if $(TRANSOM_LONG),,1)
check: ## Run all that CI runs, and print the minutes of each part
	@$(call TIMED,lint-python types $(TESTS))

check-long: export TRANSOM_LONG := 1
check-long: ## Run more generated cases, all crashes, all in a Connect session, a release, and all on PySpark 4.3
	@$(call TIMED,check test-connect-all docs crash-sweep real-time-kills test-cluster-all test-object-store test-jvm-client test-dbt release-check check-spark43 upgrade-check)

upgrade-check: ## Continue checkpoints of PySpark 4.2 with PySpark 4.3
	@$(MAKE) --no-print-directory SPARK=4.2 upgrade-begin
	@$(MAKE) --no-print-directory SPARK=4.3 upgrade-continue

upgrade-begin: $(READY) $(JAR) $(CRASHING)
	rm -rf build/upgrade
	$(BIN)/python -m tests.end_to_end.restarts.crashes.upgrading begin build/upgrade

upgrade-continue: $(READY) $(JAR) $(CRASHING)
	$(BIN)/python -m tests.end_to_end.restarts.crashes.upgrading continue build/upgrade

check-spark43:
	@$(MAKE) --no-print-directory SPARK=4.3 link-check test-canary conformance test-python test-e2e

clean: ## Remove what was built, but for the environments
	rm -rf build dist target project/target project/project/target jvm/*/target benchmarks/jmh/target
	rm -rf python/transom/jars .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse

$(READY): pyproject.toml python/transom/_version.py
	@$(FIND_PYTHON); \
	[ -x $(BIN)/pip ] || "$$python" -m venv --clear $(VENV) || \
	  { echo "$$python cannot make virtual environments (Debian: apt-get install python3-venv)." >&2; exit 1; }
	$(BIN)/pip install --quiet --editable '.[dev]' 'pyspark==$(PYSPARK_$(SPARK))'
	@touch $@

# Flink's Parquet reader needs a jar of its own, and Hadoop's, which PySpark has.
$(FLINK_READY): $(READY)
	@$(FIND_PYTHON); \
	[ -x $(FLINK_VENV)/bin/pip ] || "$$python" -m venv --clear $(FLINK_VENV)
	$(FLINK_VENV)/bin/pip install --quiet 'apache-flink==$(FLINK_VERSION)'
	lib="$$($(FLINK_VENV)/bin/python -c 'import pyflink; print(pyflink.__path__[0])')/lib"; \
	hadoop="$$($(BIN)/python -c 'import pyspark; print(pyspark.__path__[0])')/jars"; \
	cp "$$hadoop"/hadoop-client-*.jar "$$lib" && \
	mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
	  -Dartifact="org.apache.flink:flink-sql-parquet:$(FLINK_VERSION)" -DoutputDirectory="$$lib"
	@touch $@

$(VENV)/.docs-ready: pyproject.toml $(READY)
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@

$(JAR): $(JVM_SOURCES)
	./sbt writePythonVersion spark/packageBin
	@mkdir -p $(@D)
	@# Moved, not written in place: a Spark that runs has the old file open.
	cp jvm/spark/target/scala-2.13/transom_2.13-$(VERSION).jar $@.new
	mv $@.new $@

$(CRASHING): build.sbt $(shell find jvm/crashing/src/main)
	./sbt crashing/packageBin
	@mkdir -p $(@D)
	cp jvm/crashing/target/scala-2.13/transom-crashing_2.13-$(VERSION).jar $@.new
	mv $@.new $@

$(WHEEL): $(JAR) $(PYTHON_SOURCES) $(READY)
	@rm -f dist/*.whl
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls -l $@

$(CLUSTER_LIBRARIES):
	@$(FIND_PYTHON); "$$python" -m venv --clear $(CLUSTER_VENV)
	$(CLUSTER_VENV)/bin/pip install --quiet --no-compile 'numpy>=2,<2.5' 'pandas>=2.2,<3' 'protobuf>=6' 'pyarrow>=18'
	@touch $@

$(CLUSTER_READY): $(WHEEL) $(CLUSTER_LIBRARIES)
	$(CLUSTER_VENV)/bin/pip install --quiet --no-deps --force-reinstall $(WHEEL)
	@touch $@

$(STORE_READY):
	@$(FIND_PYTHON); "$$python" -m venv --clear $(STORE)/environment
	$(STORE)/environment/bin/pip install --quiet 'moto[server]>=5.2,<6' 'waitress>=3,<4'
	rm -rf $(STORE)/jars
	for jar in $(HADOOP_AWS) $(AWS_SDK) $(AWS_ACCELERATOR); do \
	  mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
	    -Dartifact="$$jar" -DoutputDirectory="$(abspath $(STORE))/jars" || exit 1; \
	done
	@touch $@

$(JVM_CLIENT_READY):
	rm -rf $(JVM_CLIENT)
	mvn --batch-mode --quiet --file tests/jvm_client/pom.xml \
	  org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
	  -Dspark.version=$(PYSPARK_$(SPARK)) -DoutputDirectory="$(abspath $(JVM_CLIENT))/jars"
	@touch $@

$(DBT_READY): examples/dbt/requirements.txt
	rm -rf $(DBT)
	@$(FIND_PYTHON); "$$python" -m venv $(DBT)/environment
	$(DBT)/environment/bin/pip install --quiet --requirement $<
	@touch $@

$(SDIST): $(JAR) $(PYTHON_SOURCES) CHANGELOG.md $(READY)
	@rm -f dist/*.tar.gz
	$(BIN)/hatchling build --target sdist --directory dist >/dev/null
	@ls -l $@
