// The stack that the suites stand on, at STACK_CONTROL: `just test-clients` starts one.

import assert from 'node:assert/strict'
import { before, beforeEach } from 'node:test'

/** The client that is registered with both imitations. */
export const client = { id: 'federated-sign-in-kit', secret: 'mock-upstream-secret' }

/** Each imitation's address, and the registered callback, which is the broker's. */
export const google = { url: '', callback: '' }
export const github = { url: '', callback: '' }

const control = process.env.STACK_CONTROL

before(async () => {
  assert.ok(control, 'STACK_CONTROL names no stack: run `just test-clients`')
  const { broker, upstreams } = await call('GET', '/api/stack')
  for (const [name, provider] of Object.entries({ google, github })) {
    provider.url = upstreams[name]
    provider.callback = `${broker}/callback/${name}`
  }
})

/** A new world for each test; the providers sign a user in without a page. */
beforeEach(async () => {
  await call('POST', '/api/reset')
  for (const name of ['google', 'github']) {
    await call('PUT', `/api/upstreams/${name}`, { mode: 'automatic' })
  }
})

async function call(method, path, body) {
  const answer = await fetch(control + path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  const text = await answer.text()
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
  return text ? JSON.parse(text) : null
}

/** Lets the next sign-in at `google` or `github` go wrong. */
export const goesWrong = (name, misbehave) =>
  call('POST', `/api/upstreams/${name}/next`, { misbehave })

/** When callbacks carry `iss`: `on`, `off`, or `errors`. */
export const sendIss = (name, iss) => call('PUT', `/api/upstreams/${name}`, { iss })

/** The browser's part: opens the authorization URL, and returns the callback it is sent to. */
export async function callbackOf(authorizationUrl) {
  const answer = await fetch(authorizationUrl, { redirect: 'manual' })
  assert.equal(answer.status, 302, await answer.text())
  return new URL(answer.headers.get('location'))
}

/**
 * For libraries whose addresses are fixed: while a test runs, `fetch` takes calls of the
 * real hosts to the imitations. Nothing else of the call changes.
 */
export function reroute(t) {
  const real = globalThis.fetch
  t.after(() => (globalThis.fetch = real))
  globalThis.fetch = (input, options) => {
    if (input instanceof Request) return real(new Request(imitated(input.url), input), options)
    return real(imitated(input), options)
  }
}

/** The imitation's address in place of the real one; a test reaches nothing else. */
export function imitated(address) {
  const { origin, hostname, pathname, search } = new URL(address)
  if (hostname === '127.0.0.1') return address
  const provider = {
    'https://accounts.google.com': google,
    'https://oauth2.googleapis.com': google,
    'https://openidconnect.googleapis.com': google,
    'https://github.com': github,
    'https://api.github.com': github,
  }[origin]
  assert.ok(provider, `${origin} is not imitated`)
  return provider.url + pathname + search
}
