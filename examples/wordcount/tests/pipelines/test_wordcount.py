"""The pipeline wordcount on a few records, with the functions of the stream."""

from sluice.interactive.trial import trial

SAMPLE = b"""\
{"number": 1, "sentence": "The baker sees rain", "said_at": "2026-01-05T12:00:10Z", "heard_at": "2026-01-05T12:00:11Z"}
{"number": 2, "sentence": "the child sees bread", "said_at": "2026-01-05T12:59:59Z", "heard_at": "2026-01-05T13:00:01Z"}
{"number": 3, "sentence": "rain", "said_at": "2026-01-05T13:00:00Z", "heard_at": "2026-01-05T13:00:01Z"}
"""


def test_words_are_counted_by_the_hour_whatever_their_case() -> None:
    found = {(row["hour"], row["word"]): row["times"] for row in trial("wordcount", SAMPLE).rows}
    assert found["2026-01-05T12:00:00Z", "the"] == 2
    assert found["2026-01-05T12:00:00Z", "sees"] == 2
    assert found["2026-01-05T13:00:00Z", "rain"] == 1
    assert len(found) == 7
