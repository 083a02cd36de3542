from __future__ import annotations

import sys
from pathlib import Path

from sluice.devstack.machine import control_group_memory, inspect
from sluice.settings import Settings


def group(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")
    return folder


def membership(folder: Path, text: str) -> Path:
    path = folder / "membership"
    path.write_text(text)
    return path


def test_without_a_limit_a_control_group_leaves_everything(tmp_path: Path) -> None:
    root = group(tmp_path / "cgroup", memory__max="max", memory__current="5000")
    assert control_group_memory(membership(tmp_path, "0::/\n"), root) == sys.maxsize
    assert control_group_memory(tmp_path / "absent", root) == sys.maxsize


def test_the_tightest_group_above_us_counts_and_its_file_cache_is_not_used_up(tmp_path: Path) -> None:
    root = group(tmp_path / "cgroup")
    group(root / "a", memory__max="9000", memory__current="8000", memory__stat="anon 1\ninactive_file 300")
    group(root / "a" / "b", memory__max="5000", memory__current="1000", memory__stat="inactive_file 0")
    assert control_group_memory(membership(tmp_path, "0::/a/b\n"), root) == 1300


def test_a_group_whose_path_is_hidden_by_the_container_is_judged_at_its_top(tmp_path: Path) -> None:
    root = group(tmp_path / "cgroup", memory__max="5000", memory__current="1000")
    assert control_group_memory(membership(tmp_path, "0::/docker/abc\n"), root) == 4000


def test_version_one_has_its_memory_controller_in_a_folder(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    group(root / "memory" / "a", memory__limit_in_bytes="700", memory__usage_in_bytes="100")
    path = membership(tmp_path, "12:cpu,cpuacct:/x\n4:memory:/a\n1:name=systemd:/y\n")
    assert control_group_memory(path, root) == 600


def test_this_machine_can_be_checked_before_its_state_folder_exists(tmp_path: Path) -> None:
    machine = inspect(Settings(state=tmp_path / "not" / "yet"))
    assert machine.disk_bytes > 0
    assert machine.memory_bytes > 0
    assert machine.pyspark[0] == machine.pyspark[1] != ""
    assert not machine.stack_is_up
