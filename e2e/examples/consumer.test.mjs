// A consumer of the Federated Sign-In Service, and the tests that it must pass.
//
//     node --test e2e/examples/consumer.test.mjs
//
// Node 18 or newer is all it needs. The tests start a stack; to use a running one, give
// its control address: STACK_CONTROL=http://127.0.0.1:8010. It is reset before each test.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { after, before, beforeEach, test } from 'node:test'

/** Makes one call, never repeated, and returns the JSON of its answer. */
async function call(method, url, body) {
  const answer = await fetch(url, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
    // A redirect would carry the secrets in the body to wherever it points.
    redirect: 'manual',
    signal: AbortSignal.timeout(10_000),
  })
  const text = await answer.text()
  const json = text ? JSON.parse(text) : null
  if (answer.ok) return json
  // Only an ApiError is the broker's refusal; a proxy in between answers, too.
  const isRefused = answer.status >= 400 && answer.status < 500 && json?.error
  throw isRefused ? new Refused(json.error) : new Error(`status ${answer.status}`)
}

class Refused extends Error {}

// The consumer: one page, one button, one session cookie. Replace it by yours. (It is
// the smallest that passes the tests; the one to learn from is `consumer-demo`.)

const consumer = {
  url: '', // these three are set before the first request
  broker: '',
  project: null,
  sessions: new Map(), // by cookie: { key } under way, { who } signed in
}

const secret = () => randomBytes(32).toString('base64url')
const callback = () => `${consumer.url}/callback`

function callBroker(path, fields) {
  const { client_id, client_secret } = consumer.project
  const body = { client_id, client_secret, redirect_uri: callback(), ...fields }
  return call('POST', consumer.broker + path, body)
}

const server = createServer(async (request, response) => {
  try {
    await answer(request, response)
  } catch {
    // An unexpected error is a page, too, and not the end of the process.
    show(response, 'Something went wrong.')
  }
})

async function answer(request, response) {
  const session = consumer.sessions.get(sessionCookie(request)) ?? {}
  if (request.method === 'POST') await startLogin(response)
  // A link checker's HEAD reads no result.
  else if (request.method !== 'GET') response.end()
  else if (request.url === '/callback') await finishLogin(response, session)
  else show(response, session.who ? `Signed in as ${session.who}.` : 'You are signed out.')
}

/** The session's cookie, by its exact name; of two with one name, one was planted. */
function sessionCookie(request) {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  const values = pairs.filter(([name]) => name === 'sid').map(([, value]) => value)
  return values.length === 1 ? values[0] : undefined
}

/**
 * Starts a login with a fresh key, kept here, and sends the browser to the broker with
 * a fresh cookie.
 */
async function startLogin(response) {
  const [key, cookie] = [secret(), secret()]
  const fields = { session_key: key, provider: 'google' }
  let started
  try {
    started = await callBroker('/v1/login/session', fields)
  } catch {
    return show(response, 'The sign-in is unavailable.')
  }
  consumer.sessions.set(cookie, { key })
  response.writeHead(303, {
    Location: started.authorization_url,
    // Lax: a Strict cookie is not sent on the way back from the provider.
    'Set-Cookie': `sid=${cookie}; Path=/; HttpOnly; SameSite=Lax`,
  })
  response.end()
}

async function finishLogin(response, session) {
  const { key } = session
  if (!key) return show(response, 'Nothing is under way.')
  delete session.key // taken, so that the result is read once
  let result
  try {
    result = await callBroker('/v1/login/result', { session_key: key })
  } catch (error) {
    if (error instanceof Refused) return show(response, 'That took too long.')
    // The result may have been consumed: a second read cannot help.
    return show(response, 'The answer was lost.')
  }
  if (result.status === 'pending') {
    session.key = key // nothing was consumed
    return show(response, 'The sign-in is not finished.')
  }
  if (result.status === 'failed') return show(response, `It failed: ${result.error}.`)
  // A name may be null. Accounts are keyed by `subject`, which never is.
  const { name, subject } = result.profile
  session.who = name ?? `account ${subject}`
  response.writeHead(303, { Location: '/' }).end()
}

function show(response, text) {
  const safe = text.replace(/[&<>]/g, (it) => `&#${it.charCodeAt(0)};`)
  const button = '<form method="post" action="/login"><button>Sign in</button></form>'
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
  response.end(`<!doctype html><p>${safe}</p>${button}`)
}

// The stack: started here, or already running.

let started
let control = process.env.STACK_CONTROL

/** Starts a stack on free ports, and returns its control address. */
async function startStack() {
  const free = ['broker', 'control', 'google', 'github'].map((it) => `--${it}=127.0.0.1:0`)
  const flags = ['--quiet', '--automatic', '--consumer=localhost:0', ...free]
  started = spawn('cargo', ['run', '--quiet', '--package', 'stack', '--', ...flags], {
    cwd: new URL('.', import.meta.url),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: started.stdout })) {
    const [what, address] = line.trim().split(/\s+/)
    if (what === 'control') return address
  }
  throw new Error('the stack did not start')
}

const stack = (method, path, body) => call(method, control + path, body)

before(async () => {
  control ??= await startStack()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  consumer.url = `http://localhost:${server.address().port}`
  consumer.broker = (await stack('GET', '/api/stack')).broker
  const ours = { name: 'My consumer', redirect_uris: [callback()] }
  consumer.project = await stack('POST', '/api/projects', ours)
})

after(() => {
  server.close()
  server.closeAllConnections()
  started?.kill()
})

/** A browser that keeps cookies, by host, and follows redirects. */
class Browser {
  #cookies = new Map()

  open = (url) => this.#go('GET', url)
  head = (url) => this.#go('HEAD', url)
  press = (url) => this.#go('POST', url)

  async #go(method, url) {
    const jar = this.#cookies.get(new URL(url).hostname) ?? new Map()
    this.#cookies.set(new URL(url).hostname, jar)
    const headers = { Cookie: [...jar].map((pair) => pair.join('=')).join('; ') }
    const answer = await fetch(url, { method, headers, redirect: 'manual' })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
      jar.set(name, value)
    }
    const next = answer.headers.get('Location')
    return next ? this.#go('GET', new URL(next, url).href) : answer.text()
  }
}

let browser

/** Resets the stack, and has the provider sign in without a page. */
beforeEach(async () => {
  await stack('POST', '/api/reset')
  await stack('PUT', '/api/upstreams/google', { mode: 'automatic' })
  browser = new Browser()
})

/** Presses the button, and returns the page on which the browser ends. */
const signIn = () => browser.press(`${consumer.url}/login`)
const home = () => browser.open(consumer.url)

test('a user signs in', async () => {
  assert.match(await signIn(), /Signed in as Ada Lovelace\./)
  assert.match(await home(), /Signed in as Ada Lovelace\./)
})

test('a name may be missing', async () => {
  await stack('POST', '/api/upstreams/google/next', { person: { id: '4711', name: null } })
  assert.match(await signIn(), /Signed in as account sub_/)
})

test('a user who cancels sees why and may start again', async () => {
  await stack('POST', '/api/upstreams/google/next', { misbehave: 'deny' })
  assert.match(await signIn(), /It failed: access_denied\./)
  assert.match(await home(), /You are signed out\./)
  assert.match(await signIn(), /Signed in as/)
})

test('a login ends after 600 seconds', async () => {
  await stack('PUT', '/api/upstreams/google', { mode: 'interactive' })
  assert.match(await signIn(), /Choose an account/)
  await stack('POST', '/api/clock/advance', { seconds: 600 })
  assert.match(await browser.open(callback()), /That took too long\./)
  assert.match(await home(), /You are signed out\./)
})

test('a lost answer is not asked for again', async () => {
  const operation = 'POST /v1/login/result'
  await stack('POST', '/api/faults', { operation, fault: 'lose_response' })
  assert.match(await signIn(), /The answer was lost\./)
  assert.match(await home(), /You are signed out\./)

  const [login] = await stack('GET', '/api/logins')
  const reads = login.calls.filter((it) => it.operation === operation)
  assert.deepEqual(reads.map((it) => it.heard), [false], 'one call, and no answer')
  assert.equal(login.state, 'consumed', 'so a second one would get nothing')

  assert.match(await signIn(), /Signed in as/, 'one click starts again')
})

test('a HEAD request reads nothing', async () => {
  await stack('PUT', '/api/upstreams/google', { mode: 'interactive' })
  await signIn()
  await browser.head(callback())
  const [login] = await stack('GET', '/api/logins')
  const operations = login.calls.map((it) => it.operation)
  assert.deepEqual(operations, ['POST /v1/login/session', 'GET /login/{handle}'])
})

/** Runs `test` while the consumer calls `origin` as its broker. */
async function withBroker(origin, test) {
  const broker = consumer.broker
  consumer.broker = origin
  try {
    await test()
  } finally {
    consumer.broker = broker
  }
}

test('a broker that cannot be reached is a page', async () => {
  const closed = createServer()
  closed.listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const origin = `http://127.0.0.1:${closed.address().port}`
  closed.close()
  await once(closed, 'close')
  await withBroker(origin, async () => {
    assert.match(await signIn(), /The sign-in is unavailable\./)
    assert.match(await home(), /You are signed out\./)
  })
})

test('a redirect carries the secrets nowhere', async () => {
  let paths = []
  const elsewhere = createServer((request, response) => {
    paths.push(request.url)
    response.writeHead(307, { Location: '/elsewhere' }).end()
  })
  elsewhere.listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  await withBroker(`http://127.0.0.1:${elsewhere.address().port}`, async () => {
    assert.match(await signIn(), /The sign-in is unavailable\./)
  })
  elsewhere.close()
  elsewhere.closeAllConnections()
  assert.deepEqual(paths, ['/v1/login/session'])
})

test('an answer of another shape is a page', async () => {
  const odd = createServer((request, response) => response.end('{}'))
  odd.listen(0, '127.0.0.1')
  await once(odd, 'listening')
  await withBroker(`http://127.0.0.1:${odd.address().port}`, async () => {
    assert.match(await signIn(), /Something went wrong\./)
    assert.match(await home(), /You are signed out\./)
  })
  odd.close()
  odd.closeAllConnections()
})
