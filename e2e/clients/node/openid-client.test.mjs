// openid-client, with both providers: everything it needs is in their metadata.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as openid from 'openid-client'

import { callbackOf, client, github, goesWrong, google, sendIss } from './stack.mjs'

/** Over plain HTTP, and with the ID token's signature verified, which is not its default. */
const execute = [openid.allowInsecureRequests, openid.enableNonRepudiationChecks]

const discoverGoogle = () =>
  openid.discovery(new URL(google.url), client.id, client.secret, undefined, { execute })

const discoverGitHub = () => {
  const issuer = new URL(`${github.url}/login/oauth`)
  const options = { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] }
  return openid.discovery(issuer, client.id, client.secret, undefined, options)
}

/** A whole sign-in, up to the tokens. */
async function signIn(config, { callback }, scope, checks = {}) {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const expectedState = openid.randomState()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope,
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...(checks.expectedNonce && { nonce: checks.expectedNonce }),
  })
  const answer = await callbackOf(url)
  const all = { pkceCodeVerifier, expectedState, ...checks }
  return openid.authorizationCodeGrant(config, answer, all)
}

const withGoogle = async () => {
  const expectedNonce = openid.randomNonce()
  const checks = { expectedNonce, idTokenExpected: true }
  const config = await discoverGoogle()
  const tokens = await signIn(config, google, 'openid email profile', checks)
  return { config, tokens }
}

const withGitHub = async () => {
  const config = await discoverGitHub()
  const tokens = await signIn(config, github, 'read:user user:email')
  return { config, tokens }
}

describe('openid-client with Google', () => {
  test('verifies the ID token and reads userinfo', async () => {
    const { config, tokens } = await withGoogle()
    const claims = tokens.claims()
    assert.equal(claims.name, 'Ada Lovelace')
    assert.equal(claims.email_verified, true)
    const info = await openid.fetchUserInfo(config, tokens.access_token, claims.sub)
    assert.equal(info.email, 'ada@people.example')
  })

  const noticed = {
    deny: { error: 'access_denied' },
    wrong_nonce: { code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' },
    wrong_audience: { code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' },
    wrong_callback_issuer: { code: 'OAUTH_INVALID_RESPONSE' },
    bad_signature: { code: 'OAUTH_INVALID_RESPONSE' },
    expired_id_token: { code: 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED' },
    token_refused: { error: 'invalid_grant' },
  }
  for (const [misbehaviour, error] of Object.entries(noticed)) {
    test(`notices ${misbehaviour}`, async () => {
      await goesWrong('google', misbehaviour)
      await assert.rejects(withGoogle(), error)
    })
  }
})

describe('openid-client with GitHub', () => {
  // It believes metadata that announces `iss`, and refuses an answer without.
  for (const iss of ['off', 'on', 'errors']) {
    test(`signs in with iss ${iss}`, async () => {
      await sendIss('github', iss)
      const { config, tokens } = await withGitHub()
      const user = new URL(`${github.url}/user`)
      const answer = await openid.fetchProtectedResource(config, tokens.access_token, user, 'GET')
      assert.equal((await answer.json()).login, 'ada-mock')
    })

    test(`reads a cancelled sign-in as such with iss ${iss}`, async () => {
      await sendIss('github', iss)
      await goesWrong('github', 'deny')
      await assert.rejects(withGitHub(), { error: 'access_denied' })
    })
  }

  test('notices the iss of another server', async () => {
    await goesWrong('github', 'wrong_callback_issuer')
    await assert.rejects(withGitHub(), { code: 'OAUTH_INVALID_RESPONSE' })
  })

  test('notices a code that is refused with status 200', async () => {
    await goesWrong('github', 'token_refused')
    await assert.rejects(withGitHub(), { code: 'OAUTH_INVALID_RESPONSE' })
  })
})
