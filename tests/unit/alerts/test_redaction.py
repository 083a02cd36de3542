from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.alerts.redaction import HIDDEN, Redaction, secrets_in

WORDS = st.text(alphabet="abcdefghij:/@=&?#%+ é", min_size=4, max_size=20)


@given(st.lists(WORDS, min_size=1, max_size=3), st.lists(st.text(max_size=20), min_size=4, max_size=4))
def test_no_known_secret_is_left_in_any_text(secrets: list[str], around: list[str]) -> None:
    text = "".join(f"{before}{secret}" for before, secret in zip(around, secrets, strict=False)) + around[-1]

    shown = Redaction(secrets)(text)

    for piece in shown.split(HIDDEN):
        assert not any(secret in piece for secret in secrets)


def test_the_form_that_stands_in_a_url_is_hidden_too() -> None:
    secret = "p@ss/word"  # noqa: S105 - a secret of nothing
    assert Redaction([secret])(f"GET /?key={quote(secret, safe='')}") == f"GET /?key={HIDDEN}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://sluice:hunter2@db:5432/control", "postgresql://sluice:***@db:5432/control"),
        ("redis://:hunter2@cache", "redis://:***@cache"),
        ("amqp://me:p@ss:word@mq/x and more", "amqp://me:***@mq/x and more"),
        ("kafka.sasl.password=hunter2 acks=all", "kafka.sasl.password=*** acks=all"),
        ('{"token": "abc", "topic": "flights"}', '{"token": "***", "topic": "flights"}'),
        ("ssl.truststore.password: hunter2, retries: 3", "ssl.truststore.password: ***, retries: 3"),
        ("fs.s3a.secret.key=abc;x=1", "fs.s3a.secret.key=***;x=1"),
        ("postgresql+psycopg://sluice:aB3/xYz9@db/sluice failed", "postgresql+psycopg://sluice:***@db/sluice failed"),
        ('password="correct horse battery" next', 'password="***" next'),
        ("{'sasl.password': 'x y z', 'acks': 'all'}", "{'sasl.password': '***', 'acks': 'all'}"),
        ('password="cut off', 'password="*** off'),
        ("Authorization: Bearer eyJabc.def-123 Host: x", "Authorization: Bearer *** Host: x"),
        ("sent with bearer tok-12345678", "sent with bearer ***"),
    ],
)
def test_passwords_in_urls_and_settings_that_say_so_are_hidden(text: str, shown: str) -> None:
    assert Redaction()(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "flights: partitions is 2, declared 4.",
        "Could not check http://127.0.0.1:8080/dags/topics: timed out",
        "ssl.keystore.password.file=/run/secrets/keystore",
        "The bearer authentication of this listener is off.",
        "",
    ],
)
def test_what_is_no_secret_is_left_as_it_is(text: str) -> None:
    assert Redaction()(text) == text


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("DB_PASSWORD", "hunter2", {"hunter2"}),
        ("AWS_SECRET_ACCESS_KEY", "abc123", {"abc123"}),
        ("AIRFLOW_CONN_DB", "postgresql://me:hunter2@db", {"postgresql://me:hunter2@db", "hunter2"}),
        ("SLUICE_CONTROL_URL", "postgresql://me:p%40ss@db", {"p%40ss", "p@ss"}),
        ("SLUICE_CONTROL_URL", "postgresql://me:a/b@c@db:5432/x", {"a/b@c"}),
        ("OPTS", "--set sasl.password='a long one'", {"a long one"}),
        ("JAVA_OPTS", "-Dkey.password=hunter2 -Xmx1g", {"hunter2"}),
        ("POSTGRES_PASSWORD_FILE", "/run/secrets/postgres", set()),
        ("PATH", "/usr/bin:/bin", set()),
    ],
)
def test_what_is_secret_of_a_variable(name: str, value: str, secrets: set[str]) -> None:
    assert set(secrets_in(name, value)) == secrets


def test_the_secrets_of_an_environment_are_hidden() -> None:
    redact = Redaction.of_environment({"MY_TOKEN": "tok-123", "HOME": "/home/me"})
    assert redact("sent tok-123 from /home/me") == "sent *** from /home/me"


def test_what_is_too_short_to_be_a_secret_hides_no_sentence() -> None:
    assert Redaction.of_environment({"A_PASSWORD": "a"})("a plan") == "a plan"
