// Hundreds of tests at once, each in its sandbox: `just test-sandboxes`.
//
// Each test moves the clock, queues a user and arms a fault, and signs in as the backend of
// a consumer would. It fails if it meets the clock, the user or the fault of another test.
// To see that, name one sandbox for all of them in ONE_SANDBOX: the JSON that made it.

import { randomBytes } from 'node:crypto'
import type { APIRequestContext } from '@playwright/test'
import { expect, test as base, type Sandbox } from './sandbox.ts'

const READ = 'POST /v1/login/result'

/** The test's own sandbox, or the one for all. */
const test = process.env.ONE_SANDBOX ? base.extend<{ sandbox: Sandbox }>({ sandbox: theOne }) : base

async function theOne({ request }: { request: APIRequestContext }, use: (one: Sandbox) => Promise<void>) {
  const one = JSON.parse(process.env.ONE_SANDBOX!)
  const call = async (method: string, path: string, data?: object) => {
    const text = await (await request.fetch(one.control + path, { method, data })).text()
    return text ? JSON.parse(text) : null
  }
  await use({ ...one, project: one.projects[0], call })
}

/** A consumer's backend, with the one login that it starts. */
class Consumer {
  readonly callback: string
  private readonly body: object

  constructor(readonly sandbox: Sandbox, readonly http: APIRequestContext) {
    const { client_id, client_secret, redirect_uris } = sandbox.project
    this.callback = redirect_uris[0]
    const session_key = randomBytes(32).toString('base64url')
    this.body = { client_id, client_secret, session_key, redirect_uri: this.callback }
  }

  /** Starts the login, and returns the URL for the browser. */
  async start(provider: string): Promise<string> {
    const answer = await this.post('/v1/login/session', { ...this.body, provider })
    return answer.authorization_url
  }

  /** Reads the result. */
  read = () => this.post('/v1/login/result', this.body)

  private async post(path: string, data: object) {
    const answer = await this.http.post(this.sandbox.broker + path, { data })
    expect(answer.status(), await answer.text()).toBe(200)
    return answer.json()
  }

  /** The browser's part: follows the redirects from `url` to the callback. */
  async browse(url: string) {
    while (url !== this.callback) {
      const answer = await this.http.get(url, { maxRedirects: 0 })
      const location = answer.headers().location
      expect(location, `${url}: ${answer.status()}`).toBeDefined()
      url = new URL(location, url).href
    }
  }
}

for (let number = 0; number < Number(process.env.SANDBOX_TESTS ?? 40); number++) {
  test(`sign-in ${number} meets its own clock, user and fault`, async ({ sandbox, request }) => {
    const provider = ['google', 'github'][number % 2]
    const seconds = 400 + (number % 199)
    const person = { id: String(1_000_000 + number) }
    const consumer = new Consumer(sandbox, request)
    const url = await consumer.start(provider)
    // A login lasts for 600 seconds: it outlives one such advance, and not two.
    await sandbox.call('POST', '/api/clock/advance', { seconds })
    await sandbox.call('POST', `/api/upstreams/${provider}/next`, { person })
    await sandbox.call('POST', '/api/faults', { operation: READ, fault: 'refuse', nth: 2 })

    expect(await consumer.read()).toEqual({ status: 'pending' })
    await consumer.browse(url)
    await expect(consumer.read()).rejects.toThrow(/socket hang up|ECONNRESET/)
    expect((await consumer.read()).profile.providerSubject).toBe(person.id)

    expect((await sandbox.call('GET', '/api/clock')).advanced_seconds).toBe(seconds)
    expect(await sandbox.call('GET', '/api/faults')).toEqual([])
    const logins: { state: string }[] = await sandbox.call('GET', '/api/logins')
    expect(logins.map((login) => login.state)).toEqual(['consumed'])
  })
}

test('a user signs in on the page of the sandbox, in Chromium', async ({ sandbox, request, page }) => {
  await sandbox.call('PUT', '/api/upstreams/github', { mode: 'interactive' })
  const consumer = new Consumer(sandbox, request)
  await page.route(consumer.callback, (route) => route.fulfill({ body: 'back' }))
  await page.goto(await consumer.start('github'))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('[data-person=alan]').click()
  await page.waitForURL(consumer.callback)
  expect((await consumer.read()).profile.name).toBe('Alan Turing')
})
