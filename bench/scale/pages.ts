/** Measures the response times of the requests that the dashboard's pages send. */
import fs from 'node:fs';

/** Requests per path, few enough to stay within the per-minute rate limit. */
const TIMES = 10;

export type PageTime = { path: string; first: number; median: number; slowest: number; requests: number };

type Operation = { security?: Record<string, unknown>[]; parameters?: { required?: boolean }[] };

/** Downloads, whose time depends on their size. */
const downloads = new Set(['/api/v1/requests/export', '/api/v1/operator/log/export']);

/** Every GET endpoint that accepts a session and needs no parameters. */
function pagesOfDocument(): string[] {
  const { paths } = JSON.parse(fs.readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
    paths: Record<string, { get?: Operation }>;
  };
  return Object.entries(paths).flatMap(([path, { get }]) =>
    get?.security?.some((way) => 'session' in way) &&
    !path.includes('{') &&
    !downloads.has(path) &&
    !get.parameters?.some(({ required }) => required)
      ? [path]
      : [],
  );
}

async function signIn(origin: string, email: string): Promise<string> {
  const response = await fetch(`${origin}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: 'correct horse battery' }),
  });
  if (!response.ok) throw new Error(`Sign-in failed: ${response.status}`);
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

/** Slowest first. */
export async function timePages(origin: string, email: string): Promise<PageTime[]> {
  const headers = { cookie: await signIn(origin, email) };
  async function ask(path: string): Promise<{ took: number; body: unknown }> {
    const from = performance.now();
    const response = await fetch(`${origin}${path}`, { headers });
    const body = await response.json();
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${JSON.stringify(body)}`);
    return { took: performance.now() - from, body };
  }
  const account = ((await ask('/api/v1/account')).body as { id: string }).id;
  const [key] = ((await ask('/api/v1/keys')).body as { data: { id: string }[] }).data;
  const monthAgo = new Date(Date.now() - 29 * 86_400_000).toISOString();
  const paths = [
    ...pagesOfDocument(),
    '/api/v1/usage/history?days=90',
    '/api/v1/keys?status=inactive',
    `/api/v1/requests?key_id=${key?.id}`,
    '/api/v1/requests?status=5xx',
    '/api/v1/requests?model=model-3',
    '/api/v1/requests?model=unknown',
    `/api/v1/requests?from=${monthAgo}&endpoint=${encodeURIComponent('POST /api/v1/messages')}`,
    `/api/v1/requests?to=${monthAgo}`,
    '/api/v1/operator/accounts?search=owner-19999',
    `/api/v1/operator/accounts/${account}`,
    `/api/v1/operator/accounts/${account}/requests`,
    `/api/v1/operator/accounts/${account}/requests?status=5xx`,
  ];
  const times: PageTime[] = [];
  for (const path of paths) {
    const { took: first } = await ask(path);
    const later: number[] = [];
    for (let time = 0; time < TIMES; time += 1) later.push((await ask(path)).took);
    later.sort((a, b) => a - b);
    times.push({
      path: path.replace(account, '{id}').replace(key?.id ?? '', '{id}'),
      first,
      median: later[TIMES / 2] ?? Number.NaN,
      slowest: later.at(-1) ?? Number.NaN,
      requests: TIMES,
    });
  }
  return times.sort((a, b) => b.median - a.median);
}
