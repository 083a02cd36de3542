"""What a correction finds beside late records: intervals of a settled table that were written again since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from sluice.delta.log import read_log
from sluice.delta.versions import version_in
from sluice.intervals.alignment import Interval
from sluice.intervals.ledger import LedgerRow, fold
from sluice.settling.rules import SettlingRules
from sluice.settling.upstream import changed
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.tables.raw_table import RawTable


def rewritten(code: PipelineCode, pinned: Mapping[str, RawTable], chunk: Sequence[LedgerRow]) -> Counter[datetime]:
    """Count the intervals of other tables that hold something else than when some intervals were made of them.

    Their pipeline's stream marks such intervals once it examines the table; a correction may be there before it.

    Args:
        code: of the pipeline.
        pinned: the settled tables that it reads, as they are now.
        chunk: its intervals.
    """
    counted = Counter[datetime]()
    for name, table in code.tables.items():
        rules, length = SettlingRules.of(code.pipeline, name), table.output.interval_length
        log = [entry for entry in read_log(pinned[name].folder) if entry.version <= pinned[name].version]
        after = fold(log, length)
        read = {row.interval.start: version_in(row.base.reach.of(name), name) for row in chunk if row.base}
        for version in set(read.values()):
            before = fold([entry for entry in log if entry.version <= version], length)
            others = [row.interval for row in changed(before, after)]
            own = {row.interval for row in chunk if read.get(row.interval.start) == version}
            counted.update({each.start: _touching(rules.read_range(each), others) for each in own})
    return +counted


def _touching(times: Interval, others: Sequence[Interval]) -> int:
    return sum(each.start < times.end and each.end > times.start for each in others)
