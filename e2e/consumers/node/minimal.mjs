// The least backend that signs users in through the broker, by the clean flow: to read. To
// copy, take `app.mjs` beside it, which answers more attacks. Its sessions are in memory: in an
// application of yours they are a table, whose rows end after a time. The start of a login needs
// a rate limit by address at your proxy: it takes no credentials, and ends the oldest when all
// places are taken.
import { randomBytes } from 'node:crypto'
import express from 'express'

const { SIGNIN_BASE_URL: BROKER, CONSUMER_BASE_URL: HERE = 'http://localhost:5000' } = process.env
const { SIGNIN_CLIENT_ID: client_id, SIGNIN_CLIENT_SECRET: client_secret } = process.env
const PROJECT = { client_id, client_secret, redirect_uri: `${HERE}/callback` }
const [app, MAX_SESSIONS] = [express(), Number(process.env.MAX_SESSIONS ?? 10_000)]
// By cookie, the oldest first. Those of users apart: starting logins signs no user out.
const [anonymous, users] = [new Map(), new Map()]

app.use((_request, response, next) => {
  response.set('Cache-Control', 'no-store')
  response.set('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
  next()
})

// The sign-in

app.post('/login/:provider', async (request, response) => {
  const session_key = secret() // fresh for each login; it stays in the backend
  const { provider } = request.params
  const login = await callBroker('/v1/login/session', { session_key, provider })
  renewSession(request, response, { session_key }) // a new cookie: an attacker may know the old one
  response.redirect(303, login.authorization_url)
})

app.get('/callback', async (request, response) => {
  const session_key = takeKey(request) // taken out: a result is read once
  if (!session_key) return response.status(400).send(page('No sign-in is under way in this browser.'))
  const { status, error, profile } = await callBroker('/v1/login/result', { session_key })
  if (status !== 'succeeded') return response.send(page(`The sign-in failed: ${error ?? status}.`))
  renewSession(request, response, { user: profile.subject }) // the key of the account
  response.redirect(303, '/')
})

// What it needs

/** Sent once: if the answer is lost, a new login is the only way. */
async function callBroker(path, fields) {
  const headers = { 'Content-Type': 'application/json' }
  // A stream, because `fetch` sends any other body again after a 421.
  const body = new Blob([JSON.stringify({ ...PROJECT, ...fields })]).stream()
  const once = { duplex: 'half', redirect: 'error', signal: AbortSignal.timeout(5000) }
  const answer = await fetch(BROKER + path, { method: 'POST', headers, body, ...once })
  if (answer.status !== 200) throw new Error(`The broker answered ${answer.status}`)
  return answer.json()
}

const secret = () => randomBytes(32).toString('base64url')
const cookieOf = (request) => /(?:^|; )minimal=([^;]*)/.exec(request.headers.cookie)?.[1]
const sessionOf = (cookie) => anonymous.get(cookie) ?? users.get(cookie)

function takeKey(request) {
  const session = sessionOf(cookieOf(request))
  const key = session?.session_key
  if (key) delete session.session_key
  return key
}

/** The same session with these values, under a new cookie; the old one is worth nothing. */
function renewSession(request, response, values) {
  const [old, cookie] = [cookieOf(request), secret()]
  const session = { ...sessionOf(old), ...values }
  anonymous.delete(old) || users.delete(old)
  const table = session.user ? users : anonymous
  table.set(cookie, session)
  if (table.size > MAX_SESSIONS) table.delete(table.keys().next().value)
  // Lax: a Strict cookie does not come back from a provider.
  const secure = HERE.startsWith('https:')
  response.cookie('minimal', cookie, { maxAge: 8 * 3600_000, secure, httpOnly: true, sameSite: 'lax' })
}

app.get('/', (request, response) => {
  const user = sessionOf(cookieOf(request))?.user
  response.send(page(user ? `Signed in as ${user}.` : 'You are signed out.'))
})

function page(text) {
  const button = '<form method="post" action="/login/google"><button>Sign in with Google</button></form>'
  return `<!doctype html><title>App</title><p>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>${button}`
}

// Express knows an error handler by its four parameters. The error's text may quote what was sent.
app.use((_error, _request, response, _next) => {
  response.status(502).send(page('We did not get an answer. Please start again.'))
})

app.listen(process.env.PORT ?? 5000, 'localhost')
