"""Of a masked trace nobody reads what a record or a row holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from sluice.intervals.backfill.trial import RowDifference
from sluice.tracing.judgement import Judgement
from sluice.tracing.masking import masked_pipeline
from sluice.tracing.trace import PipelineTrace, RecordRows

HOUR = datetime(2026, 1, 1, tzinfo=UTC)


def test_rows_keep_their_form_alone() -> None:
    changed = RowDifference(HOUR, {"customer": "Ada", "n": None}, 1, 1, {"total": "12.50"}, {"total": "Ada"})
    rows = RecordRows((changed,), alone=({"customer": "Ada", "street": ["Ada"], "vip": None},))
    masked = masked_pipeline(PipelineTrace("sales", "shop", Judgement(None, allowed=timedelta()), rows=rows)).rows
    assert masked is not None
    assert "Ada" not in json.dumps([masked.differences[0].as_dict(), *masked.alone])
    assert masked.differences[0].key == {"customer": "Xxx", "n": None}
    assert (masked.differences[0].old, masked.differences[0].new) == ({"total": "99.99"}, {"total": "Xxx"})
    assert masked.alone[0]["vip"] is None
