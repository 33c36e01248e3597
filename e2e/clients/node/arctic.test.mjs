// arctic, with both providers. Its addresses are fixed, so `fetch` is rerouted. It
// authenticates with HTTP Basic, and verifies no ID token.

import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import * as arctic from 'arctic'

import { callbackOf, client, github, goesWrong, google, imitated, reroute } from './stack.mjs'

beforeEach((t) => reroute(t))

/** What the callback brings, once the state is the one that was sent. */
async function answerTo(url, state) {
  const { searchParams } = await callbackOf(imitated(url))
  assert.equal(searchParams.get('state'), state)
  return searchParams
}

async function withGoogle() {
  const provider = new arctic.Google(client.id, client.secret, google.callback)
  const [state, verifier] = [arctic.generateState(), arctic.generateCodeVerifier()]
  const url = provider.createAuthorizationURL(state, verifier, ['openid', 'profile'])
  const answer = await answerTo(url, state)
  return provider.validateAuthorizationCode(answer.get('code'), verifier)
}

async function withGitHub() {
  const provider = new arctic.GitHub(client.id, client.secret, github.callback)
  const state = arctic.generateState()
  const url = provider.createAuthorizationURL(state, ['read:user', 'user:email'])
  const answer = await answerTo(url, state)
  return provider.validateAuthorizationCode(answer.get('code'))
}

describe('arctic with Google', () => {
  test('reads the ID token and userinfo', async () => {
    const tokens = await withGoogle()
    assert.equal(arctic.decodeIdToken(tokens.idToken()).name, 'Ada Lovelace')
    const headers = { Authorization: `Bearer ${tokens.accessToken()}` }
    const answer = await fetch('https://openidconnect.googleapis.com/v1/userinfo', { headers })
    assert.equal((await answer.json()).given_name, 'Ada')
  })

  test('notices a code that is refused', async () => {
    await goesWrong('google', 'token_refused')
    await assert.rejects(withGoogle(), { code: 'invalid_grant' })
  })

  test('notices an answer that is no token', async () => {
    await goesWrong('google', 'token_html')
    await assert.rejects(withGoogle(), arctic.UnexpectedResponseError)
  })
})

describe('arctic with GitHub', () => {
  test('reads the account and its addresses', async () => {
    const tokens = await withGitHub()
    const headers = { Authorization: `Bearer ${tokens.accessToken()}` }
    const user = await fetch('https://api.github.com/user', { headers })
    assert.equal((await user.json()).login, 'ada-mock')
    const emails = await fetch('https://api.github.com/user/emails', { headers })
    const [primary] = (await emails.json()).filter((it) => it.primary)
    assert.deepEqual([primary.email, primary.verified], ['ada@people.example', true])
  })

  test('notices a code that is refused with status 200', async () => {
    await goesWrong('github', 'token_refused')
    await assert.rejects(withGitHub(), { code: 'bad_verification_code' })
  })
})
