"""google-auth, Google's own library, with google-auth-oauthlib for the browser's part.

The client file has Google's addresses, as its console hands it out: the older
authorization address among them. The addresses that google-auth has of its own, where
certificates and userinfo are, are changed on the way (`Imitated`), and so is the issuer
that it expects.
"""

import os
import unittest
from unittest import mock

import google.auth.transport.requests
import requests
from google.auth import exceptions
from google.oauth2 import id_token
from google_auth_oauthlib.flow import Flow
from oauthlib.oauth2 import AccessDeniedError, InvalidGrantError

from stack import CLIENT_ID, CLIENT_SECRET, StackCase

SCOPES = [
    "openid",
    "https://www.googleapis.com/auth/userinfo.email",
    "https://www.googleapis.com/auth/userinfo.profile",
]


class Imitated(requests.adapters.HTTPAdapter):
    """Takes calls of Google's hosts to the imitation; nothing else of a call changes."""

    def __init__(self, google):
        super().__init__()
        self.google = google

    def send(self, request, **options):
        request.url = self.google + request.path_url
        return super().send(request, **options)


class GoogleAuth(StackCase):
    def setUp(self):
        super().setUp()
        # The imitation speaks plain HTTP.
        self.enterContext(mock.patch.dict(os.environ, OAUTHLIB_INSECURE_TRANSPORT="1"))
        self.enterContext(mock.patch.object(id_token, "_GOOGLE_ISSUERS", [self.google]))
        session = requests.Session()
        session.mount("https://", Imitated(self.google))
        self.request = google.auth.transport.requests.Request(session)

    def sign_in(self, **parameters):
        """A whole sign-in, up to the credentials."""
        client = {
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "auth_uri": f"{self.google}/o/oauth2/auth",
            "token_uri": f"{self.google}/token",
        }
        callback = self.callback("google")
        flow = Flow.from_client_config({"web": client}, SCOPES, redirect_uri=callback)
        url, _ = flow.authorization_url(**parameters)
        flow.fetch_token(authorization_response=self.callback_of(url))
        return flow.credentials

    def claims(self, credentials):
        return id_token.verify_oauth2_token(credentials.id_token, self.request, CLIENT_ID)

    def test_google_signs_a_person_in(self):
        credentials = self.sign_in()
        claims = self.claims(credentials)
        self.assertEqual(claims["name"], "Ada Lovelace")
        self.assertIs(claims["email_verified"], True)

    def test_the_credentials_read_userinfo_in_its_second_version(self):
        session = google.auth.transport.requests.AuthorizedSession(self.sign_in())
        session.mount("https://", Imitated(self.google))
        account = session.get("https://www.googleapis.com/oauth2/v2/userinfo").json()
        self.assertEqual(account["id"], "100000000000000000001")
        self.assertIs(account["verified_email"], True)

    def test_a_refresh_token_comes_each_time_that_consent_is_asked_for(self):
        asking = {"access_type": "offline", "prompt": "consent"}
        first, second = self.sign_in(**asking), self.sign_in(**asking)
        self.assertTrue(first.refresh_token)
        self.assertTrue(second.refresh_token)
        self.assertIsNone(self.sign_in(access_type="offline").refresh_token)

    def test_a_cancelled_sign_in_is_noticed(self):
        self.goes_wrong("google", "deny")
        with self.assertRaises(AccessDeniedError):
            self.sign_in()

    def test_a_refused_code_is_noticed(self):
        self.goes_wrong("google", "token_refused")
        with self.assertRaises(InvalidGrantError):
            self.sign_in()

    def test_a_forged_id_token_is_noticed(self):
        wrong = {
            "bad_signature": "Could not verify token signature",
            "unknown_kid": "Certificate for key id .* not found",
            "wrong_audience": "wrong audience",
            "expired_id_token": "Token expired",
        }
        for misbehaviour, message in wrong.items():
            self.goes_wrong("google", misbehaviour)
            credentials = self.sign_in()
            with self.subTest(misbehaviour), self.assertRaisesRegex(ValueError, message):
                self.claims(credentials)

    def test_a_wrong_issuer_is_noticed(self):
        self.goes_wrong("google", "wrong_issuer")
        credentials = self.sign_in()
        with self.assertRaisesRegex(exceptions.GoogleAuthError, "Wrong issuer"):
            self.claims(credentials)


if __name__ == "__main__":
    unittest.main()
