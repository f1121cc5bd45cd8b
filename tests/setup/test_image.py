"""The image for Kubernetes: its lines name what is there. Nothing here builds it."""

from __future__ import annotations

import re
from pathlib import Path

import numba

from keyfold.__main__ import COMMANDS
from keyfold.kernels import jit

TOP = Path(__file__).resolve().parents[2]
LINES = (TOP / "examples" / "kubernetes" / "Dockerfile").read_text(encoding="utf-8").splitlines()


def test_the_image_holds_the_oldest_spark() -> None:
    (oldest,) = re.findall(r'"pyspark>=([\d.]+),<', (TOP / "pyproject.toml").read_text())[:1]
    (image,) = (line for line in LINES if line.startswith("ARG SPARK_IMAGE="))
    assert image.startswith(f"ARG SPARK_IMAGE=apache/spark:{oldest}-scala2.13-java17-")
    assert sum(line.startswith("FROM ${SPARK_IMAGE}") for line in LINES) == 2


def test_kernels_are_compiled_by_the_user_that_runs_for_any_processor() -> None:
    assert LINES[-2:] == ["USER spark", "RUN /opt/keyfold/bin/python -m keyfold warmup"]
    commands = re.findall(r"-m keyfold ([\w-]+)", "\n".join(LINES))
    assert commands == ["jar-path", "warmup"]
    assert set(commands) <= set(COMMANDS)
    (environment,) = (line for line in LINES if line.startswith("ENV "))
    settings = dict(pair.split("=") for pair in environment.split()[1:])
    assert settings.pop("NUMBA_CPU_NAME") == "generic"
    assert hasattr(numba.config, "CPU_NAME")
    assert jit.CACHE_VARIABLE in settings
