import { defineConfig } from '@playwright/test'

export default defineConfig({
  workers: 8,
  fullyParallel: true,
  reporter: 'dot',
  outputDir: '../../../../target/sandboxes/playwright-results',
  use: {
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    },
  },
})
