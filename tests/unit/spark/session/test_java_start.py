"""A JVM starts without a warning that tells nobody anything, and its words do not reach a terminal as they are."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.settings import LOCALE
from sluice.spark.session import java_start
from sluice.spark.session.java_start import start_variables

CONF = Path(java_start.__file__).with_name("conf")


def test_the_launcher_starts_the_jvm_without_the_incubating_module_and_with_all_else() -> None:
    command = ["printf", "%s\n", "-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-opens=x", "", "*"]
    script = f'set -a; . {CONF}/spark-env.sh; set +a; CMD=("$@"); exec "${{CMD[@]}}"; echo no'
    done = subprocess.run(["bash", "-c", script, "spark-class", *command], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["-cp", "a b", "--add-opens=x", "", "*", ""]


def test_its_function_is_no_variable_of_the_jvm() -> None:
    script = f"set -a; . {CONF}/spark-env.sh; set +a; exec env"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert "BASH_FUNC" not in done.stdout


@pytest.mark.parametrize("own", [{"SPARK_HOME": "/opt/spark"}, {"SPARK_CONF_DIR": "/etc/spark"}])
def test_settings_of_ones_own_are_kept(own: dict[str, str]) -> None:
    assert start_variables(own) == LOCALE
    assert start_variables({}) == {"SPARK_CONF_DIR": str(CONF), **LOCALE}


@pytest.mark.parametrize("own", [{}, {"SPARK_CONF_DIR": "/etc/spark"}])
def test_settings_by_which_a_cluster_knows_its_drivers_go_before_ones_own(own: dict[str, str], tmp_path: Path) -> None:
    assert start_variables(own, settings=tmp_path) == {"SPARK_CONF_DIR": str(tmp_path), **LOCALE}


def test_a_path_that_sparks_script_would_cut_in_two_is_not_given() -> None:
    assert start_variables({}, Path("/home/some body/conf")) == LOCALE


PROGRAM = """
import subprocess, sys, time
from sluice.cli.terminal.escaping import guard_standard_streams
from sluice.spark.session.java_start import output_off_the_terminal
guard_standard_streams()
with output_off_the_terminal():
    child = subprocess.Popen(["sh", "-c", r"printf 'bad \\033]0;x\\007 \\302\\205 \\377\\n' >&2"])
child.wait()
sys.stderr.write("own\\n")
for line in sys.stdin: break
"""


def test_what_a_jvm_says_reaches_the_terminal_escaped() -> None:
    ours, terminal = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        said = b""
        while b"own" not in said or b"xff" not in said:
            said += os.read(ours, 1000)
        assert process.stdin is not None
        process.stdin.close()
    os.close(ours)
    assert rb"bad \x1b]0;x\x07 \x85 \xff" in said
    assert not {0x1B, 0x07, 0x85, 0xFF} & set(said)
