// The calls to the broker: each is sent once, within its time, and its answer is checked.

const MAX_ANSWER_BYTES = 64 * 1024

/** Ends a request with the page of this name. */
export class Problem extends Error {}

export function require(isSo, problem = 'lost') {
  if (!isSo) throw new Problem(problem)
}

// [call]
/**
 * The JSON of a successful answer. The problem is `refused`, or `lost` when it is unknown what
 * the broker did: then nothing is sent again, and the user starts again.
 */
export async function call(req, method, url, body, token) {
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'content-type': 'application/json' }
  if (token) headers.authorization = `Bearer ${token}`
  const { status, json } = await send(method, url, req.signal, headers, body).catch((error) => {
    console.warn(`No answer of ${new URL(url).pathname}: ${error.name}`) // its own text may quote a secret
    throw new Problem('lost')
  })
  require(json && typeof json === 'object')
  require(!(status >= 400 && status < 500 && typeof json.error === 'string'), 'refused')
  require(status === 200) // a proxy in between answers by itself, too
  return json
}

// [check_start]
/** Its address is of the broker's origin, without query, fragment or credentials: users are sent nowhere else. */
export function checkStart({ authorization_url: url, expires_in }, broker) {
  require(typeof url === 'string' && url.startsWith(`${broker}/`))
  require(/^\/[\w./~%-]{1,1900}$/.test(url.slice(broker.length)) && expires_in === 600)
  return url
}

// [check_token]
export function checkToken({ access_token: token, token_type, expires_in, scope }) {
  require(typeof token === 'string' && /^[\w-]+_[\w-]{43}$/.test(token))
  require(token_type === 'Bearer' && expires_in === 900 && scope === 'profile')
  return token
}

// [check_profile]
/** Names and addresses may be null, but are there; the rest is never null. */
export function checkProfile(profile, provider) {
  require(profile?.provider === provider && typeof profile.emailVerified === 'boolean')
  require([profile.subject, profile.providerSubject].every((it) => typeof it === 'string' && it))
  const { name, username, email, avatarUrl } = profile
  require([name, username, email, avatarUrl].every((it) => it === null || typeof it === 'string'))
}

// [send]
export async function send(method, url, signal, headers, body) {
  const response = await fetch(url, {
    method,
    signal, // one time limit for everything, up to the last byte of a server that drips
    redirect: 'manual', // a redirect would carry the secrets on
    headers: { ...headers, connection: 'close' },
    // As a stream: a body that it still has, fetch sends again by itself after a 421.
    body: body && new Blob([JSON.stringify(body)]).stream(),
    duplex: 'half',
  })
  const pieces = []
  let size = 0
  for await (const piece of response.body ?? []) {
    require((size += piece.length) <= MAX_ANSWER_BYTES)
    pieces.push(piece)
  }
  require(/^application\/json *(;|$)/i.test(response.headers.get('content-type')))
  return { status: response.status, json: JSON.parse(Buffer.concat(pieces)) }
}
// [/]
