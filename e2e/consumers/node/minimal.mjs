// The least backend that signs users in through the broker, by the clean flow: to read, and to
// begin with. Its logins and sessions are in memory: in an application of yours they are tables that
// all its processes share. The start of a login needs a rate limit by address at your proxy: it takes
// no credentials, and ends the oldest login when all places are taken.
import { randomBytes } from 'node:crypto'
import express from 'express'

const { SIGNIN_BASE_URL: BROKER, CONSUMER_BASE_URL: HERE = 'http://localhost:5000' } = process.env
const { SIGNIN_CLIENT_ID: client_id, SIGNIN_CLIENT_SECRET: client_secret } = process.env
const PROJECT = { client_id, client_secret, redirect_uri: `${HERE}/callback` }
const [app, MAX_SESSIONS, secure] = [express(), Number(process.env.MAX_SESSIONS ?? 10_000), HERE.startsWith('https:')]
const SESSION_COOKIE = secure ? '__Host-minimal' : 'minimal'
const LOGIN_COOKIES = [0, 1, 2, 3].map((number) => `${SESSION_COOKIE}_login_${number}`)
// By their cookies, the oldest first. Apart, so that starting logins signs no user out.
const [logins, sessions] = [new Map(), new Map()]
const NO_LOGIN = 'No finished sign-in was found in this browser. Please start again.'

app.use((request, response, next) => {
  response.set({
    // No `form-action`: it stops the redirects after a form. No `no-referrer`: the broker looks for it.
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'", 'Cache-Control': 'no-store',
    'Referrer-Policy': 'strict-origin-when-cross-origin', 'X-Content-Type-Options': 'nosniff',
  })
  // Any page can send a form here, but its browser names that page.
  request.method === 'POST' && request.get('Origin') !== HERE ? response.sendStatus(403) : next()
})
app.all('/callback', (request, response, next) => {
  const isPrefetch = request.get('Sec-Purpose')?.includes('prefetch')
  isPrefetch || request.method === 'HEAD' ? response.sendStatus(503) : next() // no user sees the answer
})

// The sign-in

app.post(/^\/login\/(google|github)$/, async (request, response) => {
  const [provider, session_key] = [request.params[0], secret()] // new; it stays in the backend
  const login = await callBroker('/v1/login/session', { session_key, provider })
  keepLogin(response, { session_key, provider }) // under a new cookie, of this login alone
  response.redirect(303, addressOf(login)) // the broker's alone
})

app.get('/callback', async (request, response) => {
  for (const [cookie, login] of takeLogins(request)) { // newest first, and taken out: read once
    const result = await callBroker('/v1/login/result', { session_key: login.session_key })
    if (result.status !== 'pending') {
      renewSession(response, subjectOf(result, login.provider)) // the key of the account
      return response.redirect(303, '/')
    }
    logins.set(cookie, login) // put back: another tab's
  }
  response.status(400).send(page(NO_LOGIN))
})

// What it needs

/** Sent once. If the answer is lost, or is not the broker's, a new login is the only way. */
async function callBroker(path, fields) {
  const signal = AbortSignal.timeout(5000) // `fetch` may forget it while a body drips
  const late = new Promise((_, reject) => signal.addEventListener('abort', reject))
  return Promise.race([send(path, fields, signal), late])
}

async function send(path, fields, signal) {
  const headers = { 'Content-Type': 'application/json' }
  // A stream, because `fetch` sends any other body again after a 421.
  const body = new Blob([JSON.stringify({ ...PROJECT, ...fields })]).stream()
  const once = { method: 'POST', redirect: 'error', duplex: 'half' }
  const answer = await fetch(BROKER + path, { headers, signal, body, ...once })
  require(answer.status === 200 && /^application\/json *(;|$)/.test(answer.headers.get('content-type')))
  const json = await answer.json()
  return require(json && typeof json === 'object' && json)
}

/** Of the broker's origin, without query: users are sent nowhere else. */
function addressOf({ authorization_url: url }) {
  require(typeof url === 'string' && url.startsWith(BROKER) && /^\/[\w./~%-]+$/.test(url.slice(BROKER.length)))
  return url
}

function subjectOf({ status, error, profile }, provider) {
  const isText = (it) => typeof it === 'string'
  if (status === 'failed' && isText(error)) throw new Failed(`The sign-in failed: ${error}.`)
  require(status === 'succeeded' && profile?.provider === provider && typeof profile.emailVerified === 'boolean')
  const { subject, providerSubject, name, username, email, avatarUrl } = profile
  require(subject && isText(subject) && isText(providerSubject))
  require([name, username, email, avatarUrl].every((it) => it === null || isText(it)))
  return subject
}

class Failed extends Error {}

const require = (it) => { if (it) return it; throw new Error('The answer is not the broker’s') }

const secret = () => randomBytes(32).toString('base64url')

/** Byte for byte. Of two with one name, one was planted, and neither is taken. */
function cookiesOf(request) {
  const found = new Map()
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = pair.replace(/^ +/, '').split('=')
    found.set(name, found.has(name) ? undefined : value)
  }
  return found
}

function keep(response, table, name, seconds, value) {
  const [cookie, maxAge] = [secret(), seconds * 1000]
  table.set(cookie, { ...value, ends: Date.now() + maxAge })
  while (table.size > MAX_SESSIONS) table.delete(table.keys().next().value)
  // Lax: a Strict cookie does not come back from a provider.
  response.cookie(name, cookie, { maxAge, secure, httpOnly: true, sameSite: 'lax' })
}

function keepLogin(response, login) {
  const sent = cookiesOf(response.req)
  const free = LOGIN_COOKIES.find((name) => !logins.has(sent.get(name)))
  keep(response, logins, free ?? LOGIN_COOKIES[0], 600, login)
}

function* takeLogins(request) {
  for (const [name, cookie] of [...cookiesOf(request)].reverse()) { // a browser sends the newest last
    const login = LOGIN_COOKIES.includes(name) && logins.get(cookie)
    if (login && logins.delete(cookie) && Date.now() < login.ends) yield [cookie, login]
  }
}

function renewSession(response, subject) {
  sessions.delete(cookiesOf(response.req).get(SESSION_COOKIE)) // an attacker may know the old one
  keep(response, sessions, SESSION_COOKIE, 8 * 3600, { subject })
}

app.post('/logout', (request, response) => {
  sessions.delete(cookiesOf(request).get(SESSION_COOKIE)) // here, for a copy of the cookie may exist
  response.redirect(303, '/')
})

app.get('/', (request, response) => {
  const session = sessions.get(cookiesOf(request).get(SESSION_COOKIE))
  response.send(page(Date.now() < session?.ends ? `Signed in as ${session.subject}.` : 'You are signed out.'))
})

function page(text) {
  const button = (path, label) => `<form method="post" action="${path}"><button>${label}</button></form>`
  const buttons = button('/login/google', 'Sign in with Google') + button('/logout', 'Sign out')
  return `<!doctype html><title>App</title><p>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>${buttons}`
}

// Express knows an error handler by its four parameters. Another error's text may quote what was sent.
app.use((error, _request, response, _next) => {
  if (error instanceof Failed) return response.send(page(error.message))
  response.status(400).send(page('We did not get an answer. Please start again.'))
})

app.listen(process.env.PORT ?? 5000, 'localhost')
