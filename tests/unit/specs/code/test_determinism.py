"""Transforms that would give another result in the backfill are refused at their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.specs.code.determinism import undetermined
from tests.unit.specs.bench import TRANSFORM, Bench

IMPORTS = """\
import datetime as dt
import importlib
import os
import random
import time
import uuid
from datetime import date, datetime
from random import choice

import duckdb
import numpy as np
import pandas as pd
import pyspark.sql.functions
import sluice
from pyspark.sql import functions as F
from pyspark.sql import functions as fn
from pyspark.sql.functions import current_timestamp as stamp
from sluice import table as newest
"""


def faults(tmp_path: Path, code: str) -> list[tuple[int, str]]:
    module = tmp_path / "module.py"
    module.write_text(code)
    return [(fault.line, fault.message) for fault in undetermined(module, "transforms/module.py")]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("F.rand()", "F.rand is refused: it draws at random"),
        ("F.rand(seed=5)", "F.rand is refused: it draws at random"),
        ("fn.randn()", "fn.randn is refused: it draws at random"),
        ("F.uuid()", "it draws at random"),
        ("F.shuffle('tags')", "it draws at random"),
        ("F.current_timestamp()", "it reads a clock"),
        ("F.current_date()", "it reads a clock"),
        ("F.now()", "it reads a clock"),
        ("F.unix_timestamp()", "it reads a clock"),
        ("stamp()", "stamp is refused: it reads a clock"),
        ("pyspark.sql.functions.rand()", "it draws at random"),
        ("F.monotonically_increasing_id()", "where rows happen to lie"),
        ("F.spark_partition_id()", "where rows happen to lie"),
        ("list(map(F.rand, seeds))", "F.rand is refused"),
        ("datetime.now()", "datetime.now is refused: it reads a clock"),
        ("dt.datetime.now(dt.UTC)", "it reads a clock"),
        ("date.today()", "it reads a clock"),
        ("time.time()", "time.time is refused: it reads a clock"),
        ("time.monotonic_ns()", "it reads a clock"),
        ("random.random()", "it draws at random"),
        ("choice(names)", "choice is refused: it draws at random"),
        ("np.random.default_rng(1)", "np.random.default_rng is refused"),
        ("os.urandom(8)", "it draws at random"),
        ("uuid.uuid4()", "it draws at random"),
        ("rows.sample(0.1)", ".sample is refused: it draws at random"),
        ("rows.select('a').randomSplit([1, 1])", ".randomSplit is refused"),
        ("F.expr('rand() < 0.5')", "rand() in SQL is refused"),
        ("F.expr('Now ( )')", "now() in SQL is refused"),
        ("F.expr(f'{name} > current_timestamp')", "current_timestamp in SQL is refused"),
        ("rows.where('day < current_date')", "current_date in SQL is refused"),
        ("rows.selectExpr('a', 'uuid() as id')", "uuid() in SQL is refused"),
        ("F.expr('unix_timestamp()')", "unix_timestamp() in SQL is refused"),
        ("os.environ['SHOP']", "os.environ is refused: it reads what is neither a record nor a static input"),
        ("open('shops.csv')", "open is refused: it reads what is neither"),
        ("sluice.table('departures').spark()", "sluice.table is refused: it reads what is neither"),
        ("newest('departures')", "newest is refused: it reads what is neither"),
        ("pd.read_csv('shops.csv')", "pd.read_csv is refused: it reads what is neither"),
        ("np.load('model.npy')", "np.load is refused: it reads what is neither"),
        ("duckdb.sql('SELECT 1')", "duckdb.sql is refused: it reads what is neither"),
        ("importlib.import_module(name)", "code that the code hash cannot see"),
        ("eval(text)", "code that the code hash cannot see"),
        ("__import__(name)", "code that the code hash cannot see"),
    ],
)
def test_what_no_record_determines_is_refused(tmp_path: Path, expression: str, words: str) -> None:
    code = f"{IMPORTS}\n\ndef transform(rows):\n    return {expression}\n"
    ((line, message),) = faults(tmp_path, code)
    assert line == code.count("\n")
    assert words in message


def test_sql_that_reaches_spark_by_a_name_is_found(tmp_path: Path) -> None:
    assert faults(tmp_path, "CONDITION = 'rand() < 0.5'\n")[0][0] == 1


def test_a_star_import_hides_nothing(tmp_path: Path) -> None:
    code = "from pyspark.sql.functions import *\nvalue = rand()\n"
    assert [line for line, _ in faults(tmp_path, code)] == [2]


@pytest.mark.parametrize(
    "expression",
    [
        "F.unix_timestamp('at')",
        "F.expr('unix_timestamp(at)')",
        "F.col('now')",
        "F.col('current_date')",
        "rows.groupBy('random').agg(F.max('uuid'))",
        "rows.where('brand = 5')",
        "datetime(2013, 1, 1)",
        "dt.timedelta(hours=1)",
        "uuid.uuid5(uuid.NAMESPACE_URL, 'x')",
        "time.sleep",
        "rows.random",
        "[open for open in columns]",
        "rows.open",
        "lambda input: input.count()",
        "F.hash('id')",
    ],
)
def test_what_records_determine_is_welcome(tmp_path: Path, expression: str) -> None:
    assert (
        faults(
            tmp_path, f"{IMPORTS}\n\ndef transform(rows):\n    '''Unlike rand() or now().'''\n    return {expression}\n"
        )
        == []
    )


def test_a_module_that_a_transform_imports_is_judged_too(bench: Bench) -> None:
    bench.write("spark_jobs/transforms/shared.py", '"""Shared."""\n\nimport time\n\nSTART = time.time()\n')
    bench.write(
        "spark_jobs/transforms/sales.py",
        TRANSFORM.replace("import functions as F", "import functions as F\n\nfrom . import shared"),
    )
    found = bench.scan()
    (fault,) = found.faults
    assert str(fault).startswith("spark_jobs/transforms/shared.py:5: time.time is refused: it reads a clock")
    assert ("pipeline", "sales") in found.broken


@pytest.mark.parametrize("module", ["sales", "shared"])
def test_a_module_that_is_not_python_is_a_fault_at_its_line(bench: Bench, module: str) -> None:
    bench.write("spark_jobs/transforms/shared.py", "")
    bench.write("spark_jobs/transforms/sales.py", f"import transforms.shared\n{TRANSFORM}")
    bench.write(f"spark_jobs/transforms/{module}.py", "x = 1\ndef broken(:\n")
    (fault,) = bench.scan().faults
    assert str(fault).startswith(f"spark_jobs/transforms/{module}.py:2: is not Python: ")
