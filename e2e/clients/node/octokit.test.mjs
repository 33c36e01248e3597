// Octokit, GitHub's own client. It joins scopes with commas, sends the token call as
// JSON, and calls the REST API with `Authorization: token`.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Octokit } from '@octokit/core'
import { OAuthApp } from '@octokit/oauth-app'

import { callbackOf, client, github, goesWrong } from './stack.mjs'

/** The app, and what it makes of a sign-in. */
async function signIn() {
  const app = new OAuthApp({
    clientId: client.id,
    clientSecret: client.secret,
    Octokit: Octokit.defaults({ baseUrl: github.url }),
  })
  const state = 'a state of the app'
  const { url } = app.getWebFlowAuthorizationUrl({
    state,
    scopes: ['read:user', 'user:email'],
    redirectUrl: github.callback,
  })
  const { searchParams } = await callbackOf(url)
  assert.equal(searchParams.get('state'), state)
  const { authentication } = await app.createToken({ state, code: searchParams.get('code') })
  return { app, authentication }
}

describe('Octokit', () => {
  test('reads the account and its addresses', async () => {
    const { app, authentication } = await signIn()
    assert.match(authentication.token, /^gho_[A-Za-z0-9]{36}$/)
    const octokit = await app.getUserOctokit({ token: authentication.token })
    const user = await octokit.request('GET /user')
    assert.equal(user.data.login, 'ada-mock')
    // The private part is there, and so are the addresses: both scopes were understood.
    assert.equal(user.data.plan.name, 'free')
    const emails = await octokit.request('GET /user/emails')
    assert.equal(emails.data.find((it) => it.primary).email, 'ada@people.example')
  })

  test('calls the REST API with a token that it was given', async () => {
    const { authentication } = await signIn()
    const octokit = new Octokit({ baseUrl: github.url, auth: authentication.token })
    const user = await octokit.request('GET /user')
    assert.equal(user.data.id, 9_000_001)
  })

  test('notices a code that is refused with status 200', async () => {
    await goesWrong('github', 'token_refused')
    await assert.rejects(signIn(), /bad_verification_code/)
  })

  test('notices a token that is refused', async () => {
    await goesWrong('github', 'profile_refused')
    const { app, authentication } = await signIn()
    const octokit = await app.getUserOctokit({ token: authentication.token })
    await assert.rejects(octokit.request('GET /user'), { status: 401 })
  })
})
