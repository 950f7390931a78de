/** Checks whether upstreams are reachable, accept their keys, and have their models. Contract section 8. */
import type { Config } from '../../config.ts';
import { isLoopback } from '../../config.ts';
import type { Dialect } from '../../engines/dialects/dialect.ts';
import { dialects } from '../../engines/dialects/index.ts';
import { bearer } from '../../engines/upstream/transport.ts';
import { checkCertificate } from './certificates.ts';
import { dnsRemedies, type Finding, isError, isWarning, reasonOf } from './finding.ts';

const TIMEOUT_MS = 10_000;

type Upstream = {
  /** The operator's names for the settings. */
  names: { url: string; key: string; model: string };
  /** How to set a missing key, and the beginning of how to replace a wrong one. */
  keyRemedies: { missing: string; wrong: string };
  url: string;
  apiKey?: string | undefined;
  headers?: Readonly<Record<string, string>>;
  models?: readonly string[];
  /** The path to request for the check. */
  path: string;
  /** The dialect of a chat server. */
  dialect?: Dialect;
  /** Whether only an AI SDK package knows the upstream's API. */
  isOpaque?: boolean;
};

const variables = (prefix: string): Pick<Upstream, 'names' | 'keyRemedies'> => ({
  names: { url: `${prefix}_URL`, key: `${prefix}_API_KEY`, model: `${prefix}_MODEL` },
  keyRemedies: {
    missing: `Set ${prefix}_API_KEY to a key for that server.`,
    wrong: `Set ${prefix}_API_KEY to a valid key`,
  },
});

/** The upstreams in `UPSTREAMS_FILE`. */
function upstreamsOfFile({ upstreams }: Config): Upstream[] {
  const { models = [], upstreams: all = [] } = upstreams?.settings ?? {};
  return all.map(({ apiKey, headers, kind, name, url }) => ({
    names: {
      url: `the url of "${name}" in UPSTREAMS_FILE`,
      key: `the key of "${name}" in UPSTREAMS_FILE`,
      model: `the model of the targets on "${name}" in UPSTREAMS_FILE`,
    },
    keyRemedies: {
      missing: `Set keyVariable of "${name}" in UPSTREAMS_FILE to the name of an environment variable with a key for that server.`,
      wrong: `Set the environment variable in keyVariable of "${name}" to a valid key`,
    },
    ...{ url, apiKey, headers },
    ...(kind === 'ai-sdk'
      ? { path: '/', isOpaque: true }
      : { path: dialects[kind].modelsPath, dialect: dialects[kind] }),
    models: models
      .flatMap(({ targets }) => targets)
      .filter(({ upstream }) => upstream === name)
      .map(({ model }) => model),
  }));
}

function upstreamsOf(config: Config): Upstream[] {
  const { chat, embeddings, images, search } = config;
  const upstreams = upstreamsOfFile(config);
  if (chat) {
    const { models } = chat;
    const named = models.kind === 'exact' ? models.models.map(({ upstream }) => upstream) : [];
    const preferred = models.kind === 'preferred' ? [models.name] : [];
    upstreams.push({
      ...variables('CHAT'),
      ...chat,
      models: [...named, ...preferred],
      path: dialects[chat.kind].modelsPath,
      dialect: dialects[chat.kind],
    });
  }
  if (images)
    upstreams.push({
      ...variables('IMAGES'),
      ...images,
      models: images.model === undefined ? [] : [images.model],
      path: '/models',
    });
  if (embeddings)
    upstreams.push({
      ...variables('EMBEDDINGS'),
      ...embeddings,
      models: embeddings.models.map(({ upstream }) => upstream),
      path: '/models',
    });
  if (search) upstreams.push({ ...variables('SEARCH'), ...search, path: '' });
  return upstreams;
}

const remedies: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Start that server, or correct the host and port',
  ...dnsRemedies,
  UND_ERR_CONNECT_TIMEOUT: 'Check that server and its load, and the firewall in between, or correct the host',
};

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';

function addressOf({ path, url }: Upstream): URL {
  const address = new URL(url);
  if (path === '') {
    address.searchParams.set('q', 'parley');
    address.searchParams.set('format', 'json');
  } else {
    const [name = '', query = ''] = path.split('?');
    address.pathname = `${address.pathname.replace(/\/+$/, '')}${name}`;
    for (const [key, value] of new URLSearchParams(query)) address.searchParams.set(key, value);
  }
  return address;
}

function refused({ apiKey, keyRemedies, names, path }: Upstream, address: URL, status: number): Finding[] {
  const where = `${address.host}${address.pathname}`;
  if (path === '' && status === 403)
    return [
      isError(
        'SEARCH_URL',
        `${where} does not return JSON (status 403).`,
        'Add json to search.formats in the settings.yml of SearXNG.',
      ),
    ];
  if (path === '' && status === 401)
    return [
      isError(
        'SEARCH_URL',
        `${where} requires credentials (status 401).`,
        'Allow requests without credentials from this machine, or set SEARCH_URL to another server.',
      ),
    ];
  if (status === 401 || status === 403)
    return [
      isError(
        names.key,
        `${address.host} rejects ${apiKey === undefined ? 'requests without a key' : 'the key'} (status ${status}).`,
        apiKey === undefined
          ? keyRemedies.missing
          : `${keyRemedies.wrong}: this one may be mistyped, expired, or for another provider.`,
      ),
    ];
  if (status === 404)
    return [
      isWarning(
        names.url,
        `${where} does not exist (status 404), so the models cannot be listed.`,
        `Check that ${names.url} is the base URL of the API; most end in /v1.`,
      ),
    ];
  return [
    isError(
      names.url,
      `${where} responds with status ${status}.`,
      'Check the log of that server. If another program uses this address, correct the URL.',
    ),
  ];
}

/** Reports models that the server does not list. */
function missingModels({ models = [], names }: Upstream, answer: unknown): Finding[] {
  const { data } = (answer ?? {}) as { data?: { id?: unknown }[] };
  if (!Array.isArray(data)) return [];
  const listed = new Set(data.map((model) => model?.id));
  return models
    .filter((model) => !listed.has(model) && !listed.has(`${model}:latest`))
    .map((model) =>
      isError(
        names.model,
        `The server does not list the model "${model}".`,
        listed.size === 0
          ? 'Load the model on that server. It lists no models.'
          : `Load the model on that server, or set ${names.model} to one that it lists: ${[...listed].slice(0, 5).join(', ')}.`,
      ),
    );
}

async function checkUpstream(upstream: Upstream): Promise<Finding[]> {
  const address = addressOf(upstream);
  const about = upstream.names.url;
  const findings = await checkCertificate(about, address);
  if (upstream.apiKey !== undefined && address.protocol === 'http:' && !isLoopback(address.hostname))
    findings.push(
      isWarning(
        about,
        `The key for ${address.host} is sent over http and can be read on the network.`,
        `Use https in ${about}, if that server supports it.`,
      ),
    );
  if (findings.some(({ level }) => level === 'error')) return findings;
  try {
    const { apiKey, dialect, headers, isOpaque } = upstream;
    const response = await fetch(address, {
      // It is unknown where an unknown API expects its key.
      headers: isOpaque ? {} : { ...headers, ...(dialect?.keyHeaders ?? bearer)(apiKey) },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = await response.text();
    if (isOpaque && response.status < 500) return findings;
    if (!response.ok) return [...findings, ...refused(upstream, address, response.status)];
    let answer: unknown;
    try {
      answer = JSON.parse(body);
    } catch {
      return [
        ...findings,
        isError(
          about,
          `${address.host}${address.pathname} does not return JSON.`,
          `Check that ${about} is the ${upstream.path === '' ? 'search address' : 'base URL of the API'}, not the address of a web page.`,
        ),
      ];
    }
    return [...findings, ...missingModels(upstream, answer)];
  } catch (error) {
    const reason = isTimeout(error) ? 'UND_ERR_CONNECT_TIMEOUT' : reasonOf(error);
    return [
      ...findings,
      isError(
        about,
        isTimeout(error)
          ? `${address.host} did not respond within ${TIMEOUT_MS / 1000} seconds.`
          : `${address.host} cannot be reached (${reason}).`,
        `${remedies[reason] ?? 'Check the server, and its address'} in ${about}.`,
      ),
    ];
  }
}

export const checkUpstreams = async (config: Config): Promise<Finding[]> =>
  (await Promise.all(upstreamsOf(config).map(checkUpstream))).flat();
