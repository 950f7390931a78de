// Starts the renderer of the API reference. The reader's key remains in memory and is never stored.

// Skips zod's check for dynamic code generation. The page's policy forbids it, and browsers would report a violation.
globalThis.__zod_globalConfig = { jitless: true };

// Adds the page's nonce to styles that components create at run time.
const { content: nonce } = document.querySelector('meta[property=csp-nonce]');
const createElement = document.createElement.bind(document);
document.createElement = (name, options) => {
  const element = createElement(name, options);
  if (name.toLowerCase() === 'style') element.nonce = nonce;
  return element;
};

// Shares the reader's choice of sample language with the guides and the dashboard, in both directions.
const choice = 'parley.samples';
const ofRenderer = 'scalar-reference-selected-client-v2';
const rendererNames = {
  curl: 'custom/shell',
  javascript: 'custom/javascript',
  sdk: 'custom/javascript',
  python: 'custom/python',
  openaiPython: 'custom/python',
  openaiNode: 'custom/javascript',
};
try {
  const chosen = rendererNames[localStorage.getItem(choice)];
  if (chosen !== undefined) localStorage.setItem(ofRenderer, chosen);
  const { setItem } = Storage.prototype;
  Storage.prototype.setItem = function (name, value) {
    setItem.call(this, name, value);
    const current = this.getItem(choice);
    // The renderer knows only JavaScript, in which the SDK's samples are written.
    if (name !== ofRenderer || rendererNames[current] === value) return;
    const language = Object.keys(rendererNames).find((one) => rendererNames[one] === value);
    if (language !== undefined) setItem.call(this, choice, language);
  };
} catch {
  // Storage is unavailable, so the choice applies only to this page.
}

/** The document's operations, by method and path, and whether they accept a key. */
let operations = [];

function learn({ paths }) {
  operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { security = [] }]) => ({
      method: method.toUpperCase(),
      path: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`),
      takesKey: security.some((alternative) => 'apiKey' in alternative),
    })),
  );
}

/**
 * Sends the renderer's requests. Operations that accept a key get the key but no cookie, as from any other client. All
 * other operations, and calls without a key, get the session of a signed-in reader.
 */
async function send(input, init) {
  const request = new Request(input, init);
  const { origin, pathname } = new URL(request.url);
  const operation = operations.find(({ method, path }) => method === request.method && path.test(pathname));
  const headers = new Headers(request.headers);
  // Without a key, the renderer sends only the scheme.
  const hasKey = /^Bearer ./.test(headers.get('authorization') ?? '');
  if (!hasKey || origin !== location.origin || operation?.takesKey === false) headers.delete('authorization');
  const credentials = headers.has('authorization') ? 'omit' : 'same-origin';
  const response = await fetch(new Request(request, { credentials, headers }));
  if (pathname === document.querySelector('#reference').dataset.document)
    learn(await response.clone().json());
  return response;
}

/** Fixes accessibility gaps in the renderer's components. */
const mendings = [
  [
    '.scalar-code-copy:not([aria-label]), button[class*="copy-button"]:not([aria-label])',
    (button) => {
      button.setAttribute('aria-label', 'Copy');
      button.removeAttribute('aria-controls');
    },
  ],
  ['button[role=none]', (button) => button.removeAttribute('role')],
  ['input[role=combobox]:not([aria-expanded])', (input) => input.setAttribute('aria-expanded', 'true')],
  ['[contenteditable][role=combobox]', (input) => input.setAttribute('role', 'textbox')],
  ['.cm-content:not([aria-label])', (text) => text.setAttribute('aria-label', 'Body')],
  ['.cm-scroller:not([tabindex="0"])', (scroller) => scroller.setAttribute('tabindex', '0')],
];

let mendingSoon = false;
function mend() {
  mendingSoon = false;
  for (const [selector, by] of mendings)
    for (const element of document.querySelectorAll(selector)) by(element);
}
new MutationObserver(() => {
  if (!mendingSoon) requestAnimationFrame(mend);
  mendingSoon = true;
}).observe(document.documentElement, { childList: true, subtree: true });

// The renderer has its own theme classes, which follow the header's theme. Set them before it renders: WebKit does not
// update all colors of rendered elements when a class changes immediately afterward.
addEventListener('DOMContentLoaded', () => {
  const prefersDark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => {
    const { theme } = document.documentElement.dataset;
    const isDark = theme === 'auto' ? prefersDark.matches : theme === 'dark';
    const { classList } = document.body;
    if (classList.contains('dark-mode') === isDark && classList.contains('light-mode') !== isDark) return;
    classList.toggle('dark-mode', isDark);
    classList.toggle('light-mode', !isDark);
  };
  follow();
  prefersDark.addEventListener('change', follow);
  const changes = new MutationObserver(follow);
  changes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  changes.observe(document.body, { attributeFilter: ['class'] });
});

addEventListener('DOMContentLoaded', () => {
  const target = document.querySelector('#reference');
  const url = target.dataset.document;
  target.replaceChildren();
  globalThis.Scalar.createApiReference(target, {
    url,
    title: 'Parley API',
    theme: 'none',
    layout: 'modern',
    customFetch: send,
    persistAuth: false,
    telemetry: false,
    withDefaultFonts: false,
    showDeveloperTools: 'never',
    hideClientButton: true,
    agent: { disabled: true },
    mcp: { disabled: true },
    documentDownloadType: 'none',
    modelsSectionLabel: 'Schemas',
    hideDarkModeToggle: true,
    // The header has its own search field.
    hideSearch: true,
    darkMode: document.body.classList.contains('dark-mode'),
    // Use the document's samples, in the languages of the guides.
    hiddenClients: true,
    authentication: { preferredSecurityScheme: 'apiKey' },
    defaultOpenAllTags: true,
    generateOperationSlug: ({ operationId, path, method }) => operationId ?? `${method}${path}`,
  });
});
