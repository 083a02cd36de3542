"""Forms of times: what is read, what is written, and what is refused with words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from sluice.values.paths import at_path, parse_path, put_at
from sluice.values.time_pattern import time_pattern

AT = datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("dd/MMM/yyyy:HH:mm:ss Z", "10/Oct/2000:20:55:36 +0000"),
        ("yyyy-MM-dd HH:mm:ss", "2000-10-10 20:55:36"),
        ("EEE, d MMM yyyy h:mm:ss a xxx", "Tue, 10 Oct 2000 8:55:36 PM +00:00"),
        ("yyyyMMdd'T'HHmmssX", "20001010T205536+0000"),
        ("yyyy-MM-dd HH:mm:ss.SSS 'o''clock'", "2000-10-10 20:55:36.000 o'clock"),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2000-10-10T20:55:36Z"),
        ("d.M.yyyy H:m:s", "10.10.2000 20:55:36"),
    ],
)
def test_a_time_is_written_and_read_again(form: str, text: str) -> None:
    pattern = time_pattern(form)
    assert pattern.write(AT) == text
    assert pattern.read(text) == AT


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("yyyy-MM-dd", "2000-02-30"),
        ("yyyy-MM-dd", "2000-2-03"),
        ("yyyy-MM-dd", "0000-01-01"),
        ("yyyy-MM-dd HH:mm", "2000-01-01 24:00"),
        ("yyyy-MM-dd HH:mm", "2000-01-01 10:60"),
        ("dd/MMM/yyyy", "01/jan/2000"),
        ("EEE dd/MMM/yyyy", "Mon 10/Oct/2000"),
        ("yyyy-MM-dd hh a", "2000-01-01 13 PM"),
        ("yyyy-MM-dd Z", "2000-01-01 +0160"),
        ("yyyy-MM-dd Z", "2000-01-01 +1900"),
        ("yyyy-MM-dd", " 2000-01-01"),
        ("yyyy-MM-dd", "2000-01-01\n"),
        ("yyyy-MM-dd", "२०००-01-01"),
    ],
)
def test_what_is_no_such_time_is_none(form: str, text: str) -> None:
    assert time_pattern(form).read(text) is None


def test_a_zone_beside_the_form_is_that_of_the_text() -> None:
    hour = timezone(timedelta(hours=1))
    pattern = time_pattern("yyyy-MM-dd HH:mm:ss")
    assert pattern.read("2000-10-10 21:55:36", hour) == AT
    assert pattern.write(AT, hour) == "2000-10-10 21:55:36"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("yyyy-MM-dd 'at", "a quote is not closed"),
        ("yy-MM-dd", "of this letter there are yyyy"),
        ("yyyy-MM-dd QQ", "the letter 'Q' is not known"),
        ("yyyy-MM-dd SSSSSSSSSS", "1 to 9 digits"),
        ("yyyy-MM-dd-dd", "it has the day twice"),
        ("yyyy-MM", "it needs the year"),
        ("yyyy-MM-dd hh", "with AM or PM"),
        ("yyyy-MM-dd HH a", "with AM or PM"),
        ("dMMyyyy", "is not certain; write two letters"),
    ],
)
def test_a_form_that_cannot_be_read_is_refused(form: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        time_pattern(form)


def test_a_path_leads_into_objects() -> None:
    path = parse_path("$.user['first name'].id")
    assert path == ("user", "first name", "id")
    record: dict[str, object] = {}
    put_at(record, path, 7)
    assert record == {"user": {"first name": {"id": 7}}}
    assert at_path(record, path) == 7
    assert at_path({"user": 5}, path) is None
    with pytest.raises(TypeError):
        put_at({"user": 5}, path, 7)


@pytest.mark.parametrize(
    ("form", "text", "read"),
    [
        ("yyyy-MM-dd HH:mm xxx", "2000-10-10 20:55 +05:30", datetime(2000, 10, 10, 15, 25, tzinfo=UTC)),
        ("yyyy-MM-dd HH:mm xxx", "2000-10-10 20:55 -05:30", datetime(2000, 10, 11, 2, 25, tzinfo=UTC)),
        ("yyyy-MM-dd HH:mm", "2000-10-10 20:55", datetime(2000, 10, 10, 20, 55, tzinfo=UTC)),
        ("yyyy-MM-dd HH", "2000-10-10 20", datetime(2000, 10, 10, 20, tzinfo=UTC)),
        ("yyyy-MM-dd", "2000-10-10", datetime(2000, 10, 10, tzinfo=UTC)),
    ],
)
def test_an_offset_has_a_sign_and_what_a_form_leaves_out_is_nought(form: str, text: str, read: datetime) -> None:
    assert time_pattern(form).read(text) == read
