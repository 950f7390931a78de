/** Whether upstreams can be reached, accept their keys, and have their models. Contract section 8. */
import type { Config } from '../../config.ts';
import { isLoopback } from '../../config.ts';
import { checkCertificate } from './certificates.ts';
import { type Finding, isError, isWarning, reasonOf } from './finding.ts';

const PATIENCE_MS = 10_000;

type Upstream = {
  /** The variables' common beginning, such as `CHAT`. */
  name: string;
  url: string;
  apiKey?: string | undefined;
  models?: readonly string[];
  /** Requested to try it. */
  path: string;
};

function upstreamsOf({ chat, embeddings, images, search }: Config): Upstream[] {
  const upstreams: Upstream[] = [];
  if (chat) {
    const { models } = chat;
    const named = models.kind === 'exact' ? models.models.map(({ upstream }) => upstream) : [];
    const preferred = models.kind === 'preferred' ? [models.name] : [];
    upstreams.push({ name: 'CHAT', ...chat, models: [...named, ...preferred], path: '/models' });
  }
  if (images)
    upstreams.push({
      name: 'IMAGES',
      ...images,
      models: images.model === undefined ? [] : [images.model],
      path: '/models',
    });
  if (embeddings)
    upstreams.push({
      name: 'EMBEDDINGS',
      ...embeddings,
      models: embeddings.models.map(({ upstream }) => upstream),
      path: '/models',
    });
  if (search) upstreams.push({ name: 'SEARCH', ...search, path: '' });
  return upstreams;
}

const remedies: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Start that server, or correct the host and port',
  ENOTFOUND: 'Correct the host',
  EAI_AGAIN: 'Check the name server of this machine, or correct the host',
  UND_ERR_CONNECT_TIMEOUT: 'Check the firewall between this machine and that server, or correct the host',
};

function addressOf({ path, url }: Upstream): URL {
  const address = new URL(url);
  if (path === '') {
    address.searchParams.set('q', 'parley');
    address.searchParams.set('format', 'json');
  } else address.pathname = `${address.pathname.replace(/\/+$/, '')}${path}`;
  return address;
}

function refused({ apiKey, name, path }: Upstream, address: URL, status: number): Finding[] {
  const where = `${address.host}${address.pathname}`;
  if (path === '' && status === 403)
    return [
      isError(
        'SEARCH_URL',
        `${where} does not return JSON (status 403).`,
        'Add json to search.formats in the settings.yml of SearXNG.',
      ),
    ];
  if (status === 401 || status === 403)
    return [
      isError(
        `${name}_API_KEY`,
        `${address.host} refuses ${apiKey === undefined ? 'requests without a key' : 'the key'} (status ${status}).`,
        apiKey === undefined
          ? `Set ${name}_API_KEY to a key of that server.`
          : `Set ${name}_API_KEY to a valid key: this one may be mistyped, expired, or of another provider.`,
      ),
    ];
  if (status === 404)
    return [
      isWarning(
        `${name}_URL`,
        `${where} does not exist (status 404), so the models cannot be listed.`,
        `Check that ${name}_URL is the base URL of the API; most end in /v1.`,
      ),
    ];
  return [
    isError(
      `${name}_URL`,
      `${where} responds with status ${status}.`,
      'Look into the log of that server. If another program has this address, correct the URL.',
    ),
  ];
}

/** Models that the server does not list. */
function missingModels({ models = [], name }: Upstream, answer: unknown): Finding[] {
  const { data } = (answer ?? {}) as { data?: { id?: unknown }[] };
  if (!Array.isArray(data)) return [];
  const listed = new Set(data.map((model) => model?.id));
  return models
    .filter((model) => !listed.has(model) && !listed.has(`${model}:latest`))
    .map((model) =>
      isError(
        `${name}_MODEL`,
        `The server has no model "${model}".`,
        `Load the model on that server, or set ${name}_MODEL to one that it lists: ${[...listed].slice(0, 5).join(', ') || 'none'}.`,
      ),
    );
}

async function checkUpstream(upstream: Upstream): Promise<Finding[]> {
  const address = addressOf(upstream);
  const about = `${upstream.name}_URL`;
  const findings = await checkCertificate(about, address);
  if (upstream.apiKey !== undefined && address.protocol === 'http:' && !isLoopback(address.hostname))
    findings.push(
      isWarning(
        about,
        `The key for ${address.host} is sent over http and can be read on the network.`,
        `Use https in ${about}, if that server has it.`,
      ),
    );
  if (findings.some(({ level }) => level === 'error')) return findings;
  try {
    const response = await fetch(address, {
      headers: upstream.apiKey === undefined ? {} : { authorization: `Bearer ${upstream.apiKey}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const body = await response.text();
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
          `Check that ${about} is the ${upstream.path === '' ? 'search address' : 'base URL of the API'}, and not of a web page.`,
        ),
      ];
    }
    return [...findings, ...missingModels(upstream, answer)];
  } catch (error) {
    const reason =
      error instanceof Error && error.name === 'TimeoutError' ? 'UND_ERR_CONNECT_TIMEOUT' : reasonOf(error);
    return [
      ...findings,
      isError(
        about,
        `${address.host} cannot be reached (${reason}).`,
        `${remedies[reason] ?? 'Check that server, and its address'} in ${about}.`,
      ),
    ];
  }
}

export const checkUpstreams = async (config: Config): Promise<Finding[]> =>
  (await Promise.all(upstreamsOf(config).map(checkUpstream))).flat();
