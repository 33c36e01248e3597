"""Authlib in a Flask application, with both providers.

At a token endpoint it authenticates with HTTP Basic unless it is told otherwise.
"""

import unittest

from authlib.integrations.base_client import OAuthError
from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify
from joserfc.errors import BadSignatureError, ExpiredTokenError, InvalidClaimError

from stack import CLIENT_ID, CLIENT_SECRET, StackCase, query_of


class Authlib(StackCase):
    def setUp(self):
        super().setUp()
        app = Flask(__name__)
        app.secret_key = "of a test"
        app.testing = True  # what the library raises comes through
        oauth = OAuth(app)
        credentials = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        oauth.register(
            "google",
            server_metadata_url=f"{self.google}/.well-known/openid-configuration",
            client_kwargs={"scope": "openid email profile", "code_challenge_method": "S256"},
            **credentials,
        )
        oauth.register(
            "github",
            authorize_url=f"{self.github}/login/oauth/authorize",
            access_token_url=f"{self.github}/login/oauth/access_token",
            api_base_url=f"{self.github}/",
            client_kwargs={"scope": "read:user user:email"},
            **credentials,
        )

        @app.get("/<provider>/login")
        def login(provider):
            return getattr(oauth, provider).authorize_redirect(self.callback(provider))

        @app.get("/google/callback")
        def google_callback():
            return jsonify(oauth.google.authorize_access_token()["userinfo"])

        @app.get("/github/callback")
        def github_callback():
            oauth.github.token = oauth.github.authorize_access_token()
            emails = oauth.github.get("user/emails").json()
            return jsonify(oauth.github.get("user").json() | {"emails": emails})

        self.browser = app.test_client()

    def sign_in(self, provider):
        """A whole sign-in, up to what the application knows of the person."""
        authorization_url = self.browser.get(f"/{provider}/login").location
        callback = self.callback_of(authorization_url)
        return self.browser.get(f"/{provider}/callback?{query_of(callback)}").json

    def test_google_signs_a_person_in(self):
        claims = self.sign_in("google")
        self.assertEqual(claims["name"], "Ada Lovelace")
        self.assertIs(claims["email_verified"], True)

    def test_github_signs_a_person_in(self):
        account = self.sign_in("github")
        self.assertEqual(account["login"], "ada-mock")
        [primary] = [it for it in account["emails"] if it["primary"]]
        self.assertEqual(primary["email"], "ada@people.example")

    def test_a_cancelled_sign_in_is_noticed(self):
        for provider in ("google", "github"):
            self.goes_wrong(provider, "deny")
            with self.subTest(provider), self.assertRaises(OAuthError) as caught:
                self.sign_in(provider)
            self.assertEqual(caught.exception.error, "access_denied")

    def test_a_wrong_nonce_is_noticed(self):
        self.goes_wrong("google", "wrong_nonce")
        with self.assertRaises(InvalidClaimError) as caught:
            self.sign_in("google")
        self.assertEqual(caught.exception.claim, "nonce")

    def test_a_wrong_issuer_is_noticed(self):
        self.goes_wrong("google", "wrong_issuer")
        with self.assertRaises(InvalidClaimError) as caught:
            self.sign_in("google")
        self.assertEqual(caught.exception.claim, "iss")

    def test_a_forged_signature_is_noticed(self):
        self.goes_wrong("google", "bad_signature")
        with self.assertRaises(BadSignatureError):
            self.sign_in("google")

    def test_an_expired_id_token_is_noticed(self):
        self.goes_wrong("google", "expired_id_token")
        with self.assertRaises(ExpiredTokenError):
            self.sign_in("google")

    def test_a_code_that_github_refuses_with_status_200_is_noticed(self):
        self.goes_wrong("github", "token_refused")
        with self.assertRaises(OAuthError) as caught:
            self.sign_in("github")
        self.assertEqual(caught.exception.error, "bad_verification_code")


if __name__ == "__main__":
    unittest.main()
