// The page must neither need nor offer anything outside this machine.
Scalar.createApiReference('#contract', {
  url: '/contract/openapi.json',
  agent: { disabled: true },
  defaultOpenAllTags: true,
  hideClientButton: true,
  hideTestRequestButton: true,
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  telemetry: false,
  withDefaultFonts: false,
});

// The plain page is there until the renderer is loaded.
for (const id of ['plain', 'plain-style']) document.getElementById(id).remove();
