// A reference consumer of the Federated Sign-In Service, on Express: both flows, both providers.
// Sessions and accounts are in memory; in an application of yours they are tables.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import express from 'express'
import session from 'express-session'
import { Problem, call, checkProfile, checkStart, checkToken, require, send } from './broker.mjs'
import { page } from './page.mjs'

// Settings, from the environment. Secrets travel over https, or within this machine.

function setting(name, kind, initial = '', pattern = /^.+$/) {
  const value = process.env[name] || initial
  if (pattern.test(value)) return value
  console.error(`${name} is ${value ? 'not' : 'missing: set it to'} ${kind}.`)
  process.exit(2)
}

const ORIGIN = /^(https:\/\/[\w.-]+(:\d+)?|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?)$/
const AN_ORIGIN = 'an address such as https://signin.example (http only within this machine), without a path'
const BROKER = setting('SIGNIN_BASE_URL', AN_ORIGIN, '', ORIGIN)
const HERE = setting('CONSUMER_BASE_URL', AN_ORIGIN, 'http://localhost:5000', ORIGIN)
const PROJECT = {
  client_id: setting('SIGNIN_CLIENT_ID', "the project's client_id"),
  client_secret: setting('SIGNIN_CLIENT_SECRET', "the project's client_secret"),
}
const PORT = Number(setting('PORT', 'a number', '5000', /^\d{1,5}$/))
const MAX_SESSIONS = Number(setting('MAX_SESSIONS', 'a number', '10000', /^[1-9]\d{0,6}$/))
const CLOCK = process.env.KIT_CLOCK_URL // the clock of tests
const CALL_SECONDS = Number(setting('CALL_SECONDS', 'a number', '5', /^[1-9]\d?$/)) // all calls of a request together
const [LOGIN_SECONDS, SESSION_SECONDS, LOOKS] = [600, 8 * 3600, 5]
const ERRORS = ['access_denied', 'invalid_provider_response', 'provider_unavailable']
const PROBLEMS = [...ERRORS, 'pending', 'nothing', 'refused', 'lost']
const IS_SECURE = HERE.startsWith('https:')
const secret = () => randomBytes(32).toString('base64url')
const app = express().disable('x-powered-by').disable('etag')
// Else /CALLBACK/ is the callback, too, and not what `endsWith` below takes for it.
app.enable('strict routing').enable('case sensitive routing')

// Sessions: on the server, by the random id in the cookie.

// [cookie]
const COOKIE = IS_SECURE ? '__Host-express_session' : 'express_session' // this app's: cookies know no ports
// [/]
const store = new session.MemoryStore()
const accounts = new Map() // by subject
// By session id, the oldest first: { clean, legacy, ends }, what may be used once. It is not in
// `req.session`, of which every request has a copy: of eight callbacks at once, several would find
// it there. Those of users apart: the start of a login takes no credentials, and must sign no user
// out. It needs a rate limit by address, too, at your proxy: else 10,000 starts in seconds end every
// login under way.
const [anonymous, users] = [new Map(), new Map()]
// [take]
const loginsOf = (req) => anonymous.get(req.sessionID) ?? users.get(req.sessionID)
// [/]

app.use(async (req, res, next) => {
  // [headers]
  res.set({
    // No `form-action`: browsers apply it to the redirects after a form, up to the provider. No
    // `no-referrer`: the broker checks that a login begins on a page of ours.
    'Content-Security-Policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'strict-origin-when-cross-origin',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  })
  // [guard]
  // Any page can send a form here, but a browser says from where.
  const { origin = HERE, 'sec-fetch-site': site = 'same-origin', 'sec-purpose': purpose = '' } = req.headers
  const isOurs = origin === HERE && ['same-origin', 'none'].includes(site)
  if (req.method === 'POST' && !isOurs) return res.status(403).send(page(null, '403 Forbidden'))
  // HEAD and a prefetch read nothing.
  if (req.path.endsWith('/callback') && req.method === 'HEAD') return res.end()
  if (req.path.endsWith('/callback') && purpose.includes('prefetch')) return res.status(503).end()
  // [session]
  // Byte for byte, whatever a parser makes of similar names. Of two with one name, one was
  // planted, and neither is taken.
  const cookies = (req.headers.cookie ?? '').split(';').map((it) => it.replace(/^ +/, ''))
  const ours = cookies.filter((it) => it.startsWith(`${COOKIE}=`))
  req.headers.cookie = ours.length === 1 ? ours[0] : ''
  // [/]
  req.headers['x-forwarded-proto'] = IS_SECURE ? 'https' : 'http' // a Secure cookie needs https, of the proxy too
  req.signal = AbortSignal.timeout(CALL_SECONDS * 1000)
  const clock = CLOCK && (await send('GET', CLOCK, req.signal).catch(() => null))
  req.now = clock ? clock.json.now : Date.now() / 1000
  next()
})
app.use(session({
  name: COOKIE, secret: secret(), genid: secret, store, proxy: true, resave: false, saveUninitialized: false,
  cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure: IS_SECURE }, // a Strict cookie does not come back
}))
app.use(express.urlencoded({ extended: false, limit: '16kb' }))

// [renew_session]
/**
 * Gives the browser a new session id, at the start of a login and at its end. The old one, which an
 * attacker may have planted, is dead at once: while the user is away, and afterwards.
 */
async function renewSession(req, login, user) {
  const mine = loginsOf(req) // none if the session has ended while the broker was called
  forget(req.sessionID)
  const { subject, until = 0 } = user ?? (mine ? req.session : {})
  await promisify(req.session.regenerate).call(req.session)
  const ends = Math.max(until, req.now + LOGIN_SECONDS)
  Object.assign(req.session, { subject, until }).cookie.maxAge = (ends - req.now) * 1000
  const table = req.now < until ? users : anonymous
  table.set(req.sessionID, Object.assign(mine ?? {}, login, { ends }))
  for (const [id, { ends }] of table) { // as far as the oldest are over: no walk over all
    if (ends > req.now && table.size <= MAX_SESSIONS) break
    forget(id)
    store.destroy(id)
  }
}
// [/]

const forget = (id) => anonymous.delete(id) || users.delete(id)

const account = (req) => (req.now < req.session?.until ? accounts.get(req.session.subject) : undefined)

// The clean flow: the callback carries nothing; the result is read with a key that stays here.

// [start]
app.post(/^\/login\/(google|github)$/, async (req, res) => {
  const [provider, key] = [req.params[0], secret()] // a fresh key for each login
  const fields = { session_key: key, provider, redirect_uri: `${HERE}/callback` }
  const started = await call(req, 'POST', `${BROKER}/v1/login/session`, { ...PROJECT, ...fields })
  const url = checkStart(started, BROKER)
  await renewSession(req, { clean: { key, provider, looks: LOOKS, ends: req.now + LOGIN_SECONDS } })
  res.redirect(303, url)
})

// [callback]
app.get('/callback', async (req, res) => {
  const kept = loginsOf(req)
  const login = kept?.clean
  delete kept?.clean // taken: one of twenty callbacks gets it; in a table, DELETE … RETURNING
  if (!login && account(req)) return res.redirect(303, '/')
  require(login && req.now < login.ends, 'nothing')
  const fields = { session_key: login.key, redirect_uri: `${HERE}/callback` }
  const result = await call(req, 'POST', `${BROKER}/v1/login/result`, { ...PROJECT, ...fields })
  if (result.status === 'succeeded') return signIn(req, res, result.profile, login.provider)
  if (result.status === 'failed' && ERRORS.includes(result.error)) throw new Problem(result.error)
  require(result.status === 'pending')
  // Nothing was consumed: the user may look again, a few times.
  require(login.looks > 1, 'refused')
  kept.clean ??= { ...login, looks: login.looks - 1 }
  throw new Problem('pending')
})
// [/]

// The legacy flow: state and code come back through the browser, the verifier stays here.

// [start_legacy]
app.post(/^\/legacy\/login\/(google|github)$/, async (req, res) => {
  const [provider, state, verifier] = [req.params[0], secret(), secret()]
  await renewSession(req, { legacy: { state, verifier, provider, ends: req.now + LOGIN_SECONDS } })
  const url = new URL('/authorize', BROKER)
  url.search = new URLSearchParams({
    client_id: PROJECT.client_id, redirect_uri: `${HERE}/legacy/callback`, provider, state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256',
  })
  res.redirect(303, url.href)
})

// [callback_legacy]
// Ends in a redirect, always: no page has the code in its address.
app.get('/legacy/callback', async (req, res) => {
  const query = new URL(req.originalUrl, HERE).searchParams
  const [state, code, error] = ['state', 'code', 'error'].map((name) => query.getAll(name))
  const kept = loginsOf(req)
  const login = kept?.legacy
  require(login && state.length === 1 && isEqual(state[0], login.state), 'refused')
  delete kept.legacy // consumed before anything else is looked at: by success and by failure
  require(req.now < login.ends, 'refused')
  if (!code.length && error.length === 1 && ERRORS.includes(error[0])) throw new Problem(error[0])
  require(!error.length && code.length === 1 && /^.{1,200}$/.test(code[0]), 'refused')
  const fields = { grant_type: 'authorization_code', code: code[0], redirect_uri: `${HERE}/legacy/callback` }
  const body = { ...PROJECT, ...fields, code_verifier: login.verifier }
  const token = checkToken(await call(req, 'POST', `${BROKER}/v1/token`, body))
  const profile = await call(req, 'GET', `${BROKER}/v1/profile`, undefined, token).finally(() =>
    // It has had its one use; should this fail, it ends by itself.
    call(req, 'POST', `${BROKER}/v1/revoke`, undefined, token).catch(() => {}))
  await signIn(req, res, profile, login.provider)
})
// [/]

const digest = (text) => createHash('sha256').update(text).digest()
const isEqual = (one, other) => timingSafeEqual(digest(one), digest(other)) // in constant time

// [sign_in]
async function signIn(req, res, profile, provider) {
  checkProfile(profile, provider)
  require(loginsOf(req), 'nothing') // else signed out in another tab meanwhile
  // The key is the subject and nothing else: e-mail addresses change hands.
  const found = accounts.get(profile.subject) ?? { number: accounts.size + 1, signIns: 0, note: '' }
  accounts.set(profile.subject, Object.assign(found, { profile, signIns: found.signIns + 1 }))
  await renewSession(req, {}, { subject: profile.subject, until: req.now + SESSION_SECONDS })
  res.redirect(303, '/')
}
// [/]

// Pages

app.get('/', (req, res) => res.send(page(account(req))))
app.get('/problem/:name', (req, res, next) => {
  const { name } = req.params
  if (!PROBLEMS.includes(name)) return next()
  res.status([...ERRORS, 'pending'].includes(name) ? 200 : 400).send(page(account(req), name))
})
app.post('/note', (req, res) => {
  if (account(req)) account(req).note = String(req.body?.note ?? '').slice(0, 1000)
  res.redirect(303, '/')
})
// [sign_out]
app.post('/logout', async (req, res) => {
  forget(req.sessionID)
  await promisify(req.session.destroy).call(req.session) // on the server: a copy of the cookie is worth nothing
  res.clearCookie(COOKIE, { path: '/', httpOnly: true, sameSite: 'lax', secure: IS_SECURE }).redirect(303, '/')
})
// [/]
app.use((req, res) => res.status(404).send(page(account(req), '404 Not Found')))
// [error_page]
app.use((error, req, res, next) => {
  if (error instanceof Problem) return res.redirect(303, `/problem/${error.message}`)
  if (!error.status) console.error(`A request ended by a ${error.name}`)
  const problem = error.status ? 'This request is not valid.' : 'Something went wrong.'
  res.status(error.status ?? 500).send(page(null, problem))
})
// [/]

createServer(app).listen(PORT, '127.0.0.1')
createServer(app).listen(PORT, '::1').on('error', () => {}) // `localhost` may mean either
