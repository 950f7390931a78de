/**
 * Reads and validates the environment once. Contract section 13. Outside this file, only commands that run without a
 * valid configuration and `workers/name.ts` read `process.env`.
 */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { parseChatFields } from './domain/completion-fields.ts';
import { parseImageHosts } from './domain/named-sources.ts';
import { parseOperators } from './domain/operators.ts';
import { defaultPlans, loadPlans, type PlanCatalog } from './domain/plans.ts';
import { contactUri } from './domain/security-contact.ts';
import { type AnswerLimits, answerLimits } from './engines/answer-limits.ts';
import { type ModelAliases, parseModelAliases } from './engines/model-aliases.ts';
import {
  type ChatUpstream,
  chatUpstream,
  type EmbeddingsUpstream,
  embeddingsUpstream,
  type ImagesUpstream,
  imagesUpstream,
  type SearchUpstream,
  searchUpstream,
} from './engines/upstream/settings.ts';
import { ConfigError, type Env, integer, oneOf, parsed, text } from './environment.ts';
import { type TelemetrySettings, telemetrySettings } from './telemetry/settings.ts';
import { type Upstreams, upstreamsFile } from './upstreams-file/load.ts';
import type { WebhookTargets } from './webhooks/target.ts';
import { workerSettings } from './workers/settings.ts';

export type Config = Readonly<{
  port: number;
  host: string;
  /** The service's public origin, without a trailing slash. */
  publicUrl: string;
  /** Whether `PUBLIC_URL` is set. If not, any loopback name with `port` counts as the service's origin. */
  publicUrlIsSet: boolean;
  databaseUrl: string | undefined;
  databaseDirectUrl: string | undefined;
  /** The total of all workers. */
  databaseConnections: number;
  /** The number of processes that serve the port. */
  workers: number;
  dataDir: string;
  /** Keys for cookies: the first one signs, all verify. Undefined if the database stores the secret. */
  sessionSecrets: readonly [string, ...string[]] | undefined;
  /** Undefined if the built-in engine is used. */
  chat: ChatUpstream | undefined;
  /** The upstreams in `UPSTREAMS_FILE`, which replaces `chat`. */
  upstreams: Upstreams | undefined;
  /** Chat completion fields that reach the engine in addition to those that Parley knows. */
  chatFields: readonly string[];
  chatModelAliases: ModelAliases;
  imageHosts: ReadonlySet<string>;
  images: ImagesUpstream | undefined;
  embeddings: EmbeddingsUpstream | undefined;
  search: SearchUpstream | undefined;
  /** Limits per upstream. */
  upstreamLimits: Readonly<{ firstByteTimeoutMs: number; idleTimeoutMs: number; connections: number }>;
  answerLimits: AnswerLimits;
  /** A client that reads no data for this long is disconnected. */
  unreadMs: number;
  callsPerAccount: number;
  streamsPerAccount: number;
  chatHistoryCharacters: number | undefined;
  /** For a reply whose tokens are reserved, if neither the client nor the model sets a limit. */
  defaultMaxOutputTokens: number;
  bodyMemoryBytes: number;
  plans: PlanCatalog;
  signups: 'open' | 'closed';
  billing: 'open' | 'managed';
  operatorContact: string | null;
  /** IDs and lowercase email addresses of operators' accounts. */
  operators: ReadonlySet<string>;
  securityContact: string | undefined;
  /** Addresses and networks, or a number of hops; 0 means none. */
  trustProxy: number | readonly string[];
  trustProxyIsSet: boolean;
  redisUrl: string | undefined;
  /** For sign-ups and leak reports per IP address, and for failed sign-ins per IP and email address. */
  authAttemptsPerMinute: number;
  /** New accounts per IP address. Loopback is limited only if the operator sets the number. */
  signupsPerAddressPerDay: Readonly<{ count: number; limitsLoopback: boolean }>;
  drainSeconds: number;
  readyDelaySeconds: number;
  /** How long `requests` and `refusals` are kept, including today. */
  requestLogDays: number;
  logLevel: string;
  /** The Bearer token for `/metrics`. If undefined, only loopback may read it. */
  metricsToken: string | undefined;
  webhookTargets: WebhookTargets;
  /** If undefined, no spans are recorded. */
  telemetry: TelemetrySettings | undefined;
}>;

/** Fixed by contract section 7, like `answerLimits`. No variable changes it; only tests lower it. */
const UNREAD_MS = 60_000;

/** Hosts as URLs spell them: lowercase, IPv6 in brackets and compressed. Other names may resolve to any address. */
const loopbackNames =
  /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\])$/;

/** Whether only this machine can reach a host. */
export function isLoopback(host: string): boolean {
  const url = `http://${isIP(host) === 6 ? `[${host}]` : host}`;
  return URL.canParse(url) && loopbackNames.test(new URL(url).hostname);
}

function publicOrigin(env: Env, port: number): { publicUrl: string; publicUrlIsSet: boolean } {
  const value = text(env, 'PUBLIC_URL');
  if (value === undefined) return { publicUrl: `http://localhost:${port}`, publicUrlIsSet: false };
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isOrigin =
    url &&
    /^https?:$/.test(url.protocol) &&
    url.pathname === '/' &&
    !url.search &&
    !url.hash &&
    !url.username;
  if (!isOrigin) {
    throw new ConfigError(
      'PUBLIC_URL',
      `must be an origin such as https://chat.example.com, without a path, not "${value}".`,
    );
  }
  return { publicUrl: url.origin, publicUrlIsSet: true };
}

/** Never quotes the value, because it may contain a password. */
function postgresUrl(env: Env, name: string): string | undefined {
  const value = text(env, name);
  if (value !== undefined && !(/^postgres(ql)?:\/\//.test(value) && URL.canParse(value))) {
    throw new ConfigError(name, 'must be a URL such as postgres://user:password@host:5432/database.');
  }
  return value;
}

/** Never quotes the value, because it may contain a password. */
function redisUrl(env: Env): string | undefined {
  const value = text(env, 'REDIS_URL');
  if (value !== undefined && !(/^rediss?:\/\//.test(value) && URL.canParse(value))) {
    throw new ConfigError('REDIS_URL', 'must be a URL such as redis://user:password@host:6379/0.');
  }
  return value;
}

const SECRET_LENGTH = 32;

/** Never quotes the value. A comma is part of a secret, unless it separates secrets that are long enough. */
function sessionSecrets(env: Env): Config['sessionSecrets'] {
  const value = text(env, 'SESSION_SECRET');
  if (value === undefined) return undefined;
  if (value.length < SECRET_LENGTH)
    throw new ConfigError(
      'SESSION_SECRET',
      'must be one or more secrets of at least 32 characters, separated by commas.',
    );
  const [first = value, ...others] = value.split(',').map((secret) => secret.trim());
  return [first, ...others].every(({ length }) => length >= SECRET_LENGTH) ? [first, ...others] : [value];
}

const networkNames = new Set(['loopback', 'linklocal', 'uniquelocal']);

function isAddressOrNetwork(text: string): boolean {
  if (networkNames.has(text)) return true;
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

function trustProxy(env: Env): Config['trustProxy'] {
  const value = text(env, 'TRUST_PROXY');
  if (value === undefined || value === 'off') return 0;
  if (/^\d{1,2}$/.test(value)) return Number(value);
  const addresses = value.split(',').map((address) => address.trim());
  if (!addresses.every(isAddressOrNetwork)) {
    throw new ConfigError(
      'TRUST_PROXY',
      `must be off, a number of hops, or addresses such as 10.0.0.0/8,loopback, not "${value}".`,
    );
  }
  return addresses;
}

/** Falls back to `OPERATOR_CONTACT`, which may be any text, if that is a valid contact. */
function securityContact(env: Env): string | undefined {
  const value = text(env, 'SECURITY_CONTACT');
  if (value === undefined) return contactUri(text(env, 'OPERATOR_CONTACT') ?? '');
  const uri = contactUri(value);
  if (uri === undefined) {
    throw new ConfigError(
      'SECURITY_CONTACT',
      `must be an email address, a phone number such as +1-201-555-0123, or an https URL, not "${value}".`,
    );
  }
  return uri;
}

function plans(env: Env): PlanCatalog {
  const file = text(env, 'PLANS_FILE');
  if (file === undefined) return defaultPlans;
  try {
    return loadPlans(resolve(file));
  } catch (error) {
    throw new ConfigError(
      'PLANS_FILE',
      `must be a JSON file in the format of GET /api/v1/plans: ${(error as Error).message}`,
    );
  }
}

/** Reads the configuration. Empty variables count as unset. Throws ConfigError for the first invalid one. */
export function loadConfig(env: Env = process.env): Config {
  const port = integer(env, 'PORT', 3000, 0, 65_535);
  const { publicUrl, publicUrlIsSet } = publicOrigin(env, port);
  const databaseUrl = postgresUrl(env, 'DATABASE_URL');
  const host = text(env, 'HOST') ?? '127.0.0.1';
  const isLocal = isLoopback(host) && isLoopback(new URL(publicUrl).hostname);
  const catalog = plans(env);
  const upstreams = upstreamsFile(env, catalog);
  return Object.freeze({
    port,
    host,
    publicUrl,
    publicUrlIsSet,
    databaseUrl,
    databaseDirectUrl: postgresUrl(env, 'DATABASE_DIRECT_URL') ?? databaseUrl,
    ...workerSettings(env, databaseUrl !== undefined),
    dataDir: resolve(text(env, 'DATA_DIR') ?? 'data'),
    sessionSecrets: sessionSecrets(env),
    chat: chatUpstream(env),
    upstreams,
    chatFields: parsed(env, 'CHAT_FIELDS', parseChatFields),
    chatModelAliases: parsed(env, 'CHAT_MODEL_ALIASES', parseModelAliases),
    imageHosts: parsed(env, 'IMAGE_HOSTS', parseImageHosts),
    images: imagesUpstream(env),
    embeddings: embeddingsUpstream(env),
    search: searchUpstream(env),
    upstreamLimits: {
      firstByteTimeoutMs: integer(env, 'UPSTREAM_FIRST_BYTE_SECONDS', 120, 1, 3600) * 1000,
      idleTimeoutMs: integer(env, 'UPSTREAM_IDLE_SECONDS', 60, 1, 3600) * 1000,
      connections: integer(env, 'UPSTREAM_CONNECTIONS', 1000, 1, 100_000),
    },
    chatHistoryCharacters: integer(env, 'CHAT_HISTORY_CHARACTERS', undefined, 0, 10_000_000),
    defaultMaxOutputTokens: integer(env, 'DEFAULT_MAX_OUTPUT_TOKENS', 4096, 1, 10_000_000),
    answerLimits,
    unreadMs: UNREAD_MS,
    callsPerAccount: integer(env, 'CALLS_PER_ACCOUNT', 100, 1, 100_000),
    streamsPerAccount: integer(env, 'STREAMS_PER_ACCOUNT', 20, 1, 100_000),
    // The minimum holds the largest body, in addition to the part reserved for small ones.
    bodyMemoryBytes: integer(env, 'BODY_MEMORY_MB', 64, 24, 65_536) * 1024 * 1024,
    plans: catalog,
    signups: oneOf(env, 'SIGNUPS', ['open', 'closed'], 'open'),
    billing: oneOf(env, 'BILLING', ['open', 'managed'], isLocal ? 'open' : 'managed'),
    operatorContact: text(env, 'OPERATOR_CONTACT') ?? null,
    operators: parsed(env, 'OPERATORS', parseOperators),
    securityContact: securityContact(env),
    trustProxy: trustProxy(env),
    trustProxyIsSet: text(env, 'TRUST_PROXY') !== undefined,
    redisUrl: redisUrl(env),
    authAttemptsPerMinute: integer(env, 'AUTH_ATTEMPTS_PER_MINUTE', 10, 1, 1_000_000),
    signupsPerAddressPerDay: {
      count: integer(env, 'SIGNUPS_PER_ADDRESS_PER_DAY', 20, 1, 1_000_000),
      limitsLoopback: text(env, 'SIGNUPS_PER_ADDRESS_PER_DAY') !== undefined,
    },
    drainSeconds: integer(env, 'DRAIN_SECONDS', 30, 0, 3600),
    readyDelaySeconds: integer(env, 'READY_DELAY_SECONDS', 5, 0, 300),
    // The minimum is three days, because a charge admitted yesterday may still be settled or looked up today.
    requestLogDays: integer(env, 'REQUEST_LOG_DAYS', 90, 3, 3650),
    metricsToken: text(env, 'METRICS_TOKEN'),
    telemetry: telemetrySettings(env),
    webhookTargets: oneOf(env, 'WEBHOOK_TARGETS', ['public', 'any'], 'public'),
    logLevel: oneOf(env, 'LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info'),
  });
}
