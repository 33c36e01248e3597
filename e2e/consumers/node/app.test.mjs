// What a consumer of the Federated Sign-In Service must do, tried on `app.mjs` beside it.
//
//     just test-examples
//
// To try your own, start it in `startConsumer`, and write its pages' words in the tests. The
// tests start a stack; to use a running one, give its control address, and it is reset before
// each test: STACK_CONTROL=http://127.0.0.1:8010. They need the packages of package.json.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, beforeEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'

// Node says of its SQLite, before it starts, that it may still change.
const APP = ['--disable-warning=ExperimentalWarning', fileURLToPath(new URL('app.mjs', import.meta.url))]
const FLOWS = { '/login': '/callback', '/legacy/login': '/legacy/callback' }
const [RESULT, TOKEN] = ['POST /v1/login/result', 'POST /v1/token']

/** A browser that keeps cookies, by host, and follows redirects. */
class Browser {
  jars = new Map()

  jar(url) {
    const { hostname } = new URL(url)
    if (!this.jars.has(hostname)) this.jars.set(hostname, new Map())
    return this.jars.get(hostname)
  }

  cookies = (url) => [...this.jar(url)].map((pair) => pair.join('=')).join('; ')

  /** One request: the status, the address to go on to, and the page. */
  async send(method, url, { body, ...headers } = {}) {
    headers = { Cookie: this.cookies(url), ...headers }
    const signal = AbortSignal.timeout(20_000)
    const answer = await fetch(url, { method, headers, body, redirect: 'manual', signal })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
      this.jar(url).set(name, value)
    }
    const to = answer.headers.get('Location')
    return { status: answer.status, to: to && new URL(to, url).href, page: await answer.text() }
  }

  /** Follows redirects to a page, or to the address that begins with `stopAt`. */
  async go(method, url, stopAt, redirects = 10) {
    const { to, page } = await this.send(method, url)
    if (!to) return page
    assert.ok(redirects > 0, `${url} redirects for ever`)
    return stopAt && to.startsWith(stopAt) ? to : this.go('GET', to, stopAt, redirects - 1)
  }
}

const running = []
let control = process.env.STACK_CONTROL
let consumer // its address
let broker
let project
let browser
let output = ''

/** Starts a stack on free ports, and returns its control address. */
async function startStack() {
  const free = ['broker', 'control', 'google', 'github'].map((it) => `--${it}=127.0.0.1:0`)
  const flags = ['--quiet', '--automatic', '--consumer=localhost:0', ...free]
  const started = spawn('cargo', ['run', '--quiet', '--package', 'stack', '--', ...flags], {
    cwd: new URL('.', import.meta.url),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.push(started)
  for await (const line of createInterface({ input: started.stdout })) {
    const [what, address] = line.trim().split(/\s+/)
    if (what === 'control') return address
  }
  throw new Error('the stack did not start')
}

/** A port that no program gets meanwhile which leaves the choice to the system: its ports are higher. */
async function freePort() {
  for (;;) {
    const port = randomInt(12_000, 20_000)
    const closed = createServer().listen(port, '127.0.0.1')
    const isFree = await once(closed, 'listening').then(() => true, () => false)
    if (!isFree) continue
    closed.close()
    await once(closed, 'close')
    return port
  }
}

/** Starts the consumer of a broker, and returns its address when it listens. */
async function startConsumer(broker, port, settings) {
  const url = `http://localhost:${port}`
  const env = {
    ...process.env, SIGNIN_BASE_URL: broker, CONSUMER_BASE_URL: url, PORT: port,
    SIGNIN_CLIENT_ID: 'prj_test', SIGNIN_CLIENT_SECRET: 'a secret of this test', ...settings,
  }
  const started = spawn(process.execPath, APP, { env })
  running.push(started)
  for (const stream of [started.stdout, started.stderr]) stream.on('data', (text) => (output += text))
  while (started.exitCode === null) {
    const connection = connect(port, '127.0.0.1')
    if (await once(connection, 'connect').catch(() => false)) return connection.destroy(), url
  }
  throw new Error(`the consumer did not start: ${output}`)
}

async function stack(method, path, body) {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(control + path, { method, headers, body: body && JSON.stringify(body) })
  const text = await answer.text()
  assert.ok(answer.ok, text)
  return text ? JSON.parse(text) : null
}

before(async () => {
  control ??= await startStack()
  broker = (await stack('GET', '/api/stack')).broker
  consumer = await startRegisteredConsumer({ KIT_CLOCK_URL: `${control}/api/clock` })
})

/** Starts a consumer with a project of its own, and returns its address. */
async function startRegisteredConsumer(settings) {
  const port = await freePort()
  const redirect_uris = Object.values(FLOWS).map((callback) => `http://localhost:${port}${callback}`)
  project = await stack('POST', '/api/projects', { name: 'My consumer', redirect_uris })
  const { client_id: SIGNIN_CLIENT_ID, client_secret: SIGNIN_CLIENT_SECRET } = project
  return startConsumer(broker, port, { SIGNIN_CLIENT_ID, SIGNIN_CLIENT_SECRET, ...settings })
}

after(() => running.forEach((it) => it.kill()))

/** Resets the stack, and has the providers sign in without a page. */
beforeEach(async () => {
  await stack('POST', '/api/reset')
  for (const name of ['google', 'github']) await stack('PUT', `/api/upstreams/${name}`, { mode: 'automatic' })
  browser = new Browser()
})

const nextUser = (person) => stack('POST', '/api/upstreams/google/next', { person })
const misbehave = (name) => stack('POST', '/api/upstreams/google/next', { misbehave: name })

/** Presses the button, and returns the page on which the browser ends. */
const signIn = (flow = '/login', provider = 'google') => browser.go('POST', `${consumer}${flow}/${provider}`)

/** Presses the button, and returns the broker's address to which the browser is sent. */
const start = async (flow = '/login', by = browser) => (await by.send('POST', `${consumer}${flow}/google`)).to

/** Returns the callback's address, to which the browser is sent and does not go yet. */
const signInUpToTheCallback = async (flow = '/login', by = browser) =>
  by.go('GET', await start(flow, by), consumer + FLOWS[flow])

const home = (by = browser) => by.go('GET', `${consumer}/`)

/** Whether the client received the answer, of each call of this operation. */
async function calls(operation) {
  const all = (await stack('GET', '/api/logins')).flatMap((login) => login.calls)
  return all.filter((it) => it.operation === operation).map((it) => it.heard)
}

// The five that every consumer needs.

test('a user signs in by both flows, with both providers', async () => {
  for (const flow of Object.keys(FLOWS)) {
    for (const provider of ['google', 'github']) {
      browser = new Browser()
      assert.match(await signIn(flow, provider), /Signed in as\s+<bdi>Ada Lovelace/)
      assert.ok((await home()).includes(`<dd>${provider}\n`))
    }
  }
})

test('a name may be missing', async () => {
  await nextUser({ id: '4711', name: null })
  assert.match(await signIn(), /Signed in as\s+<bdi>account \d+</)
})

test('a user who cancels sees why and may start again', async () => {
  for (const flow of Object.keys(FLOWS)) {
    browser = new Browser()
    await misbehave('deny')
    assert.match(await signIn(flow), /You cancelled the sign-in\./)
    assert.match(await home(), /You are signed out\./)
    assert.match(await signIn(flow), /Signed in as/)
  }
})

test('a login ends after 600 seconds', async () => {
  for (const flow of Object.keys(FLOWS)) {
    for (const user of ['You are signed out.', 'Ada Lovelace']) {
      browser = new Browser()
      if (user === 'Ada Lovelace') await signIn()
      const callback = await signInUpToTheCallback(flow)
      await stack('POST', '/api/clock/advance', { seconds: 600 })
      assert.match(await browser.go('GET', callback), /took too long|under way/)
      assert.ok((await home()).includes(user))
    }
  }
  assert.deepEqual(await calls(TOKEN), [])
})

test('a lost answer is not asked for again', async () => {
  for (const [flow, operation] of [['/login', RESULT], ['/legacy/login', TOKEN]]) {
    await stack('POST', '/api/faults', { operation, fault: 'lose_response' })
    assert.match(await signIn(flow), /Please start again\./)
    assert.match(await home(), /You are signed out\./)
    assert.deepEqual(await calls(operation), [false], 'one call, and no answer')
  }
  assert.match(await signIn(), /Signed in as/, 'one click starts again')
})

// The browser in which a login ends.

test('a HEAD request and a prefetch read nothing', async () => {
  for (const [flow, operation] of [['/login', RESULT], ['/legacy/login', TOKEN]]) {
    const callback = await signInUpToTheCallback(flow)
    await browser.send('HEAD', callback)
    await browser.send('HEAD', callback.replace('/callback', '/CALLBACK/'))
    await browser.send('GET', callback, { 'Sec-Purpose': 'prefetch' })
    assert.deepEqual(await calls(operation), [])
    assert.match(await browser.go('GET', callback), /Signed in as/)
  }
})

test('twenty callbacks at once read once', async () => {
  for (const [flow, operation] of [['/login', RESULT], ['/legacy/login', TOKEN]]) {
    const callback = await signInUpToTheCallback(flow)
    await stack('POST', '/api/faults', { operation, fault: 'delay' })
    const Cookie = browser.cookies(consumer)
    const twenty = Array.from({ length: 20 }, () => new Browser().send('GET', callback, { Cookie }))
    const answers = await Promise.all(twenty)
    assert.equal(answers.filter((it) => it.to === `${consumer}/`).length, 1)
    assert.deepEqual(await calls(operation), [true])
  }
})

test('a planted session is worth nothing', async () => {
  const attacker = new Browser()
  await start('/login', attacker)
  browser.jars.set('localhost', new Map(attacker.jar(consumer)))
  const callback = await signInUpToTheCallback()
  assert.doesNotMatch(await attacker.go('GET', callback), /Signed in as/, 'while the user is away')
  assert.match(await browser.go('GET', callback), /Signed in as/)
  assert.match(await home(attacker), /You are signed out\./, 'nor afterwards')
})

test('a session known before the sign-in ends with it', async () => {
  const callback = await signInUpToTheCallback()
  const spy = new Browser()
  spy.jars.set('localhost', new Map(browser.jar(consumer)))
  assert.match(await browser.go('GET', callback), /Signed in as/)
  assert.match(await home(spy), /You are signed out\./)
})

test('of two tabs the older says that it did not end', async () => {
  for (const id of ['first', 'second']) await nextUser({ id, name: `The ${id}` })
  const [older, newer] = [await start(), await start()]
  assert.match(await browser.go('GET', older), /not finished/)
  assert.match(await browser.go('GET', newer), /The second/)
  assert.match(await home(), /The second/)
})

test('a pending login is looked at five times', async () => {
  await start()
  const offers = []
  for (let i = 0; i < 7; i++) offers.push((await browser.go('GET', `${consumer}/callback`)).includes('Look again'))
  assert.deepEqual(offers, [true, true, true, true, false, false, false])
  assert.equal((await calls(RESULT)).length, 5)
})

test('a state of another browser or of another case is refused', async () => {
  const callback = await signInUpToTheCallback('/legacy/login')
  const [beginning, state] = callback.split('state=')
  const swapped = state.replace(/[a-z]/gi, (it) => (it < 'a' ? it.toLowerCase() : it.toUpperCase()))
  for (const wrong of [beginning, `${beginning}state=${swapped}`, `${callback}&state=${state}`]) {
    assert.match(await browser.go('GET', wrong), /began in another browser/)
  }
  const other = new Browser()
  await start('/legacy/login', other)
  assert.match(await other.go('GET', callback), /began in another browser/)
  assert.deepEqual(await calls(TOKEN), [])
  assert.match(await browser.go('GET', callback), /Signed in as/, 'the right one still works')
  assert.match(await browser.go('GET', callback), /began in another browser/, 'once')
})

test('a cookie of a similar name or a second one is not taken', async () => {
  await signIn()
  const right = browser.cookies(consumer)
  for (const Cookie of [`${right}; express_session=planted`, `%65${right.slice(1)}`, `\xa0${right}`]) {
    assert.match((await new Browser().send('GET', consumer, { Cookie })).page, /You are signed out\./)
  }
  assert.match((await new Browser().send('GET', consumer, { Cookie: right })).page, /Signed in as/)
})

test('a form of another site changes nothing', async () => {
  await signIn()
  for (const header of [{ Origin: 'https://evil.example' }, { Origin: 'null' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
    for (const path of ['/login/google', '/legacy/login/google', '/logout', '/note']) {
      // Node's fetch sends what it is given: no browser's rule is in between.
      assert.equal((await browser.send('POST', consumer + path, header)).status, 403)
    }
  }
  assert.match(await home(), /Signed in as/)
  assert.equal((await calls('POST /v1/login/session')).length, 1)
})

test('starts beyond the capacity end the oldest login and sign no user out', async (t) => {
  const usual = [consumer, project]
  t.after(() => ([consumer, project] = usual))
  consumer = await startRegisteredConsumer({ MAX_SESSIONS: '2' })
  await signIn()
  const [older, newer] = [new Browser(), new Browser()]
  const callback = await signInUpToTheCallback('/login', older)
  await signInUpToTheCallback('/login', newer)
  await start('/legacy/login', new Browser())
  assert.match(await older.go('GET', callback), /No sign-in is under way/)
  assert.match(await newer.go('GET', callback), /Signed in as/)
  assert.match(await home(), /Signed in as/)
})

// Two processes that share their sessions.

/** Starts two consumers with one project and one file of sessions, at two ports. */
async function startTwo(t) {
  const folder = mkdtempSync(join(tmpdir(), 'consumer-'))
  const usual = [consumer, project]
  t.after(() => {
    ;[consumer, project] = usual
    rmSync(folder, { recursive: true })
  })
  const SESSIONS_DB = join(folder, 'sessions.sqlite')
  const ports = [await freePort(), await freePort()]
  const redirect_uris = Object.values(FLOWS).map((callback) => `http://localhost:${ports[0]}${callback}`)
  project = await stack('POST', '/api/projects', { name: 'Two of them', redirect_uris })
  const settings = {
    SESSIONS_DB, SIGNIN_CLIENT_ID: project.client_id, SIGNIN_CLIENT_SECRET: project.client_secret,
    CONSUMER_BASE_URL: `http://localhost:${ports[0]}`, KIT_CLOCK_URL: `${control}/api/clock`,
  }
  const [here, there] = await Promise.all(ports.map((port) => startConsumer(broker, port, settings)))
  consumer = here
  assert.equal(statSync(SESSIONS_DB).mode & 0o777, 0o600, 'its owner alone may read it')
  return [here, there]
}

test('a login ends at the process to which the browser comes back, and once', async (t) => {
  const [here, there] = await startTwo(t)
  for (const [flow, operation] of [['/login', RESULT], ['/legacy/login', TOKEN]]) {
    browser = new Browser()
    const callback = await signInUpToTheCallback(flow)
    await stack('POST', '/api/faults', { operation, fault: 'delay' })
    const Cookie = browser.cookies(consumer)
    const twenty = Array.from({ length: 20 }, (_, i) =>
      new Browser().send('GET', callback.replace(here, i % 2 ? here : there), { Cookie }))
    const answers = await Promise.all(twenty)
    assert.equal(answers.filter((it) => [`${here}/`, `${there}/`].includes(it.to)).length, 1)
    assert.deepEqual(await calls(operation), [true])
  }
})

test('a user is signed in and out at both processes', async (t) => {
  const [here, there] = await startTwo(t)
  assert.match(await signIn(), /Signed in as/)
  assert.match(await browser.go('GET', there), /Signed in as/)
  const Cookie = browser.cookies(consumer)
  const headers = { Cookie, Origin: here } // the address of both, for browsers
  await new Browser().send('POST', `${there}/logout`, headers)
  for (const one of [here, there]) {
    assert.match((await new Browser().send('GET', one, { Cookie })).page, /You are signed out\./)
  }
})

// Who is signed in.

test('a failed login leaves the user who was signed in', async () => {
  for (const flow of Object.keys(FLOWS)) {
    for (const failure of ['deny', 'token_503', 'wrong_nonce']) {
      await signIn()
      await misbehave(failure)
      assert.match(await signIn(flow), /You are still signed in as\s+<bdi>Ada Lovelace/)
    }
  }
})

test('another user replaces the first and has another note', async () => {
  const same = { email: 'same@people.example', email_verified: true }
  await nextUser({ id: 'one', name: 'One', ...same })
  await signIn()
  const form = { body: 'note=<b>mine', 'Content-Type': 'application/x-www-form-urlencoded' }
  await browser.send('POST', `${consumer}/note`, form)
  assert.match(await home(), /&#60;b&#62;mine/)
  await nextUser({ id: 'two', name: 'Two', ...same })
  const page = await signIn()
  assert.match(page, /Two/)
  assert.doesNotMatch(page, /mine/)
  await nextUser({ id: 'one', name: 'Another', email: 'other@people.example', email_verified: false })
  assert.match(await signIn(), /not verified[^]*mine/, "the account is the subject's")
})

test('sign-out ends the session on the server', async () => {
  await signIn()
  const Cookie = browser.cookies(consumer)
  assert.match(await browser.go('POST', `${consumer}/logout`), /You are signed out\./)
  assert.match((await new Browser().send('GET', consumer, { Cookie })).page, /You are signed out\./)
})

test('the access token is revoked, and no secret is in the output', async () => {
  await signIn('/legacy/login')
  assert.match(JSON.stringify(await stack('GET', '/api/events')), /POST \/v1\/revoke/)
  for (const secret of [project.client_secret, 'code=', 'state=']) assert.ok(!output.includes(secret))
})

// Brokers that do not answer as they should.

/** Starts a broker that answers so, and returns its address and the paths of its calls. */
async function startBroker(t, answer) {
  const paths = []
  const server = createServer((request, response) => {
    paths.push(request.url)
    request.resume().on('end', () => answer(response))
  }).listen(0, '127.0.0.1')
  t.after(() => (server.close(), server.closeAllConnections()))
  await once(server, 'listening')
  return [`http://127.0.0.1:${server.address().port}`, paths]
}

test('a broker that cannot be reached is a page', async () => {
  const other = await startConsumer(`http://127.0.0.1:${await freePort()}`, await freePort())
  assert.match(await browser.go('POST', `${other}/login/google`), /did not answer as it should/)
})

test('an answer that is none is a page, and nothing is sent again', async (t) => {
  let now
  const [broker, paths] = await startBroker(t, (response) => {
    const [status, type, body] = now
    response.writeHead(status, { 'Content-Type': type, Location: '/elsewhere' }).end(JSON.stringify(body))
  })
  const other = await startConsumer(broker, await freePort())
  const [json, right] = ['application/json', { authorization_url: `${broker}/login/x`, expires_in: 600 }]
  now = [200, json, right]
  assert.equal((await browser.send('POST', `${other}/login/google`)).to, right.authorization_url)
  for (const wrong of [
    [201, json, right], [303, json, right], [307, json, right], [421, json, right],
    [503, json, { error: 'request_failed' }], [200, 'text/html', right], [200, json, []],
    [200, json, { ...right, authorization_url: 'https://evil.example/login/x' }],
    [200, json, { ...right, authorization_url: `${broker}/login/x?y=z` }],
    [200, json, { ...right, more: 'x'.repeat(100_000) }],
  ]) {
    now = wrong
    paths.length = 0
    assert.match(await browser.go('POST', `${other}/login/google`), /did not answer as it should/)
    assert.deepEqual(paths, ['/v1/login/session'], JSON.stringify(wrong).slice(0, 60))
  }
})

test('a broker that drips keeps no user waiting', async (t) => {
  const served = []
  let other
  const [broker] = await startBroker(t, async (response) => {
    served.push((await new Browser().send('GET', other)).status)
    response.writeHead(200, { 'Content-Type': 'application/json' })
    const drip = setInterval(() => response.write(' '), 100)
    response.on('close', () => clearInterval(drip))
  })
  other = await startConsumer(broker, await freePort())
  assert.match(await browser.go('POST', `${other}/login/google`), /did not answer as it should/)
  assert.deepEqual(served, [200], 'others are served meanwhile')
})

test('a setting that is missing or wrong is named', () => {
  const right = { SIGNIN_BASE_URL: broker, SIGNIN_CLIENT_ID: 'x', SIGNIN_CLIENT_SECRET: 'x' }
  for (const [name, value, sentence] of [
    ['SIGNIN_BASE_URL', '', 'is missing: set it to an address such as '],
    ['SIGNIN_BASE_URL', 'http://signin.example', 'is not an address such as '],
    ['CONSUMER_BASE_URL', 'http://localhost:5000/path', 'is not an address such as '],
    ['SIGNIN_CLIENT_ID', '', "is missing: set it to the project's client_id."],
    ['SIGNIN_CLIENT_SECRET', '', "is missing: set it to the project's client_secret."],
    ['PORT', 'many', 'is not a number.'],
  ]) {
    const env = { ...right, [name]: value }
    const ended = spawnSync(process.execPath, APP, { env, encoding: 'utf8', timeout: 10_000 })
    assert.deepEqual([ended.status, ended.stdout, ended.stderr.split('\n').length], [2, '', 2])
    assert.ok(ended.stderr.startsWith(`${name} ${sentence}`), ended.stderr)
  }
})

test('over https the cookie is of this host only', async () => {
  const [port, origin] = [await freePort(), 'https://app.example']
  await startConsumer(broker, port, { CONSUMER_BASE_URL: origin })
  const start = `http://127.0.0.1:${port}/legacy/login/google`
  const answer = await fetch(start, { method: 'POST', headers: { origin }, redirect: 'manual' })
  const [pair, ...attributes] = answer.headers.getSetCookie()[0].split('; ')
  assert.match(pair, /^__Host-\w+=\S{43,}$/)
  const names = attributes.map((it) => it.replace(/^(Expires)=.*/, '$1')).sort()
  assert.deepEqual(names, ['Expires', 'HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure'])
})
