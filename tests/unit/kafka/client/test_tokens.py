"""Tokens are asked for by a client's credentials and kept while they are in force; secrets are shown to nobody."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from sluice.alerts.redaction import secrets_in
from sluice.kafka.client.connection import client_arguments
from sluice.kafka.client.credentials import by_token, encrypted
from sluice.kafka.client.current_password import CurrentPassword
from sluice.kafka.client.java_client import java_settings
from sluice.kafka.client.tokens import IssuedTokens, TokenRefusedError
from tests.certificates import make_authority
from tests.http_servers import QuietHandler, answering
from tests.token_issuer import TokenIssuer, issuing
from tests.twins.clock import ManualClock

SECRET = "s3cret/with:all+kinds"  # noqa: S105 - of a test
KEY_PASSWORD = "of the key"  # noqa: S105 - of a test


@pytest.fixture
def issuer() -> Iterator[TokenIssuer]:
    with issuing(TokenIssuer(clients={"sluice": SECRET})) as issuer:
        yield issuer


def test_a_token_is_used_for_most_of_its_life_and_then_replaced(issuer: TokenIssuer) -> None:
    clock = ManualClock()
    provider = IssuedTokens(issuer.endpoint, "sluice", CurrentPassword(SECRET), scope="kafka write", clock=clock)
    assert provider.token() == issuer.given[0]
    clock.sleep(0.79 * issuer.seconds)
    assert provider.token() == issuer.given[0]
    assert issuer.asked == [{"grant_type": "client_credentials", "scope": "kafka write"}]
    clock.sleep(0.02 * issuer.seconds)
    assert provider.token() == issuer.given[1]


def test_a_token_without_an_end_is_asked_for_each_time(issuer: TokenIssuer) -> None:
    issuer.seconds = 0
    short = IssuedTokens(issuer.endpoint, "sluice", CurrentPassword(SECRET))
    assert [short.token(), short.token()] == issuer.given
    assert issuer.asked[-1] == {"grant_type": "client_credentials"}


def test_whoever_is_refused_learns_why_and_the_secret_is_not_said(issuer: TokenIssuer) -> None:
    with pytest.raises(TokenRefusedError, match=r"/token answers 401 Unauthorized\. Fix: correct") as refused:
        IssuedTokens(issuer.endpoint, "sluice", CurrentPassword("wrong secret")).token()
    assert "wrong secret" not in str(refused.value)


def test_an_issuer_that_does_not_answer_is_said_to(issuer: TokenIssuer) -> None:
    nobody = issuer.endpoint.replace("/token", "")[: issuer.endpoint.rindex(":")] + ":1/token"
    with pytest.raises(TokenRefusedError, match=r"gives no token \(URLError: .*refused"):
        IssuedTokens(nobody, "sluice", CurrentPassword(SECRET)).token()


def test_an_address_that_is_none_is_said_to_be(issuer: TokenIssuer) -> None:
    with pytest.raises(TokenRefusedError, match=r"gives no token \(InvalidURL: nonnumeric port"):
        IssuedTokens(f"{issuer.endpoint.removesuffix('/token')}a/token", "sluice", CurrentPassword(SECRET)).token()


def test_the_secret_is_sent_to_no_other_address() -> None:
    asked: list[str] = []

    class Moved(QuietHandler):
        def answer(self) -> None:
            asked.append(self.path)
            self.respond(302, Location="/elsewhere")

    with answering(ThreadingHTTPServer(("127.0.0.1", 0), Moved)) as address:
        provider = IssuedTokens(f"http://{address}/token", "sluice", CurrentPassword(SECRET))
        with pytest.raises(TokenRefusedError, match="answers 302 Found"):
            provider.token()
    assert asked == ["/token"]


def test_a_private_authority_of_the_issuer_has_to_be_named(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    with issuing(TokenIssuer(clients={"sluice": SECRET}), authority.issue("issuer").both) as issuer:
        assert (
            IssuedTokens(issuer.endpoint, "sluice", CurrentPassword(SECRET), ca=str(authority.ca)).token()
            == issuer.given[0]
        )
        with pytest.raises(TokenRefusedError, match=r"gives no token \(URLError: .*certificate verify failed"):
            IssuedTokens(issuer.endpoint, "sluice", CurrentPassword(SECRET)).token()


def test_of_a_login_the_secret_alone_is_hidden_in_reports() -> None:
    login = by_token(encrypted({}, key_password=KEY_PASSWORD), "sluice", SECRET, endpoint="https://id.test/t", ca="/c")
    assert {secret for name, value in login.items() for secret in secrets_in(name, value)} == {SECRET, KEY_PASSWORD}


def test_both_clients_are_set_from_one_login(issuer: TokenIssuer) -> None:
    login = by_token({"security.protocol": "SSL"}, "sluice", SECRET, endpoint=issuer.endpoint, ca='/c"a.pem')
    python = client_arguments(login)
    assert (python["security_protocol"], python["sasl_mechanism"]) == ("SASL_SSL", "OAUTHBEARER")
    assert python["sasl_oauth_token_provider"].token() == issuer.given[0]
    java = java_settings(login)
    assert java["sasl.oauthbearer.client.credentials.client.secret"] == SECRET
    assert java["sasl.login.callback.handler.class"].endswith(".OAuthBearerLoginCallbackHandler")
    assert java["sasl.jaas.config"].endswith(r' ssl.truststore.type="PEM" ssl.truststore.location="/c\"a.pem";')
    assert not [name for name in java if name.startswith("sluice.")]
