"""A user and a password as client settings: what is written is what is read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sluice.kafka.client.connection import client_arguments
from sluice.kafka.client.credentials import as_user

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@given(TEXT, TEXT, st.sampled_from(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]))
def test_any_user_and_password_arrive(user: str, password: str, mechanism: str) -> None:
    client = as_user({"client.id": "us"}, user, password, mechanism)
    arguments = client_arguments(client)
    assert (arguments["sasl_plain_username"], arguments["sasl_plain_password"]) == (user, password)
    assert (arguments["sasl_mechanism"], arguments["client_id"]) == (mechanism, "us")
    assert client["sasl.jaas.config"].count("\n") == 0


def test_what_is_encrypted_stays_so() -> None:
    assert as_user({"security.protocol": "SSL"}, "a", "b", "PLAIN")["security.protocol"] == "SASL_SSL"
    assert as_user({"security.protocol": "SASL_SSL"}, "a", "b", "PLAIN")["security.protocol"] == "SASL_SSL"
    assert as_user({}, "a", "b", "PLAIN")["security.protocol"] == "SASL_PLAINTEXT"
