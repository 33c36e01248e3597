// A sandbox for each test: a broker and providers, with a clock, users and faults that no
// other test meets. Copy this file beside your own tests, and import `test` from it.
//
// It is made by the stack at STACK_CONTROL, or else at its usual address: `just up`. With
// KEEP_SANDBOX=1 it stays, and its address is printed: open the inspector there.
import { test as base } from '@playwright/test'
export { expect } from '@playwright/test'

const stack = process.env.STACK_CONTROL ?? 'http://127.0.0.1:8010'
const project = { name: 'My app', redirect_uris: ['http://localhost:5173/auth/callback'] } // yours

export interface Sandbox {
  id: string
  control: string
  broker: string
  project: { client_id: string; client_secret: string; redirect_uris: string[] }
  /** Makes a call of its control address, and returns the JSON of the answer. */
  call(method: string, path: string, data?: object): Promise<any>
}

export const test = base.extend<{ sandbox: Sandbox }>({
  sandbox: async ({ playwright }, use, info) => {
    const http = await playwright.request.newContext()
    const call = async (method: string, url: string, data?: object) => {
      const answer = await http.fetch(url, { method, data })
      const text = await answer.text()
      if (!answer.ok()) throw new Error(`${method} ${url}: ${answer.status()} ${text}`)
      return text ? JSON.parse(text) : null
    }
    const name = [...info.title.replace(/\s/g, ' ')].slice(0, 80).join('')
    const made = await call('POST', `${stack}/api/sandboxes`, { name, projects: [project] })
    const ownCall: Sandbox['call'] = (method, path, data) => call(method, made.control + path, data)
    await use({ ...made, project: made.projects[0], call: ownCall })
    if (process.env.KEEP_SANDBOX) console.log(`The sandbox stays for 15 minutes: ${made.control}`)
    else await call('DELETE', `${stack}/api/sandboxes/${made.id}`)
    await http.dispose()
  },
})
