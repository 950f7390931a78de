/** The environment, read once and validated: contract section 13. The only reader of `process.env`. */
import { resolve } from 'node:path';
import { defaultPlans, loadPlans, type PlanCatalogue } from './domain/plans.ts';

export type Config = Readonly<{
  port: number;
  host: string;
  /** The service's own origin, without a trailing slash. */
  publicUrl: string;
  /** Whether `PUBLIC_URL` was given; else every loopback spelling with the own port is the own origin. */
  publicUrlIsSet: boolean;
  databaseUrl: string | undefined;
  databaseDirectUrl: string | undefined;
  dataDir: string;
  sessionSecret: string | undefined;
  plans: PlanCatalogue;
  signups: 'open' | 'closed';
  billing: 'open' | 'managed';
  operatorContact: string | null;
  /** As Fastify's `trustProxy` takes it. */
  trustProxy: boolean | number | string[];
  drainSeconds: number;
  /** Days of `requests` and `refusals` that are kept, today included. */
  requestLogDays: number;
  logLevel: string;
}>;

/** A variable with a value that is not taken; its message is the one line the operator sees. */
export class ConfigError extends Error {
  constructor(variable: string, takes: string) {
    super(`${variable} ${takes}`);
    this.name = 'ConfigError';
  }
}

type Env = Readonly<Record<string, string | undefined>>;

const text = (env: Env, name: string): string | undefined => {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
};

function integer(env: Env, name: string, fallback: number, minimum: number, maximum: number): number {
  const value = text(env, name);
  if (value === undefined) return fallback;
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < minimum || number > maximum) {
    throw new ConfigError(name, `takes a whole number from ${minimum} to ${maximum}, not "${value}".`);
  }
  return number;
}

function oneOf<const T extends readonly string[]>(
  env: Env,
  name: string,
  values: T,
  fallback: T[number],
): T[number] {
  const value = text(env, name);
  if (value === undefined) return fallback;
  if (!values.includes(value)) throw new ConfigError(name, `takes ${values.join(' or ')}, not "${value}".`);
  return value;
}

const isLoopback = (hostname: string) =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  /^127(\.\d+){3}$/.test(hostname);

/** The origin of an `http(s)` URL that has nothing but an origin. */
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
      `takes an origin such as https://chat.example.com, without a path, not "${value}".`,
    );
  }
  return { publicUrl: url.origin, publicUrlIsSet: true };
}

/** Never repeats the value: it may hold a password. */
function postgresUrl(env: Env, name: string): string | undefined {
  const value = text(env, name);
  if (value !== undefined && !/^postgres(ql)?:\/\//.test(value)) {
    throw new ConfigError(name, 'takes a URL such as postgres://user:password@host:5432/database.');
  }
  return value;
}

function sessionSecret(env: Env): string | undefined {
  const value = text(env, 'SESSION_SECRET');
  if (value !== undefined && value.length < 32)
    throw new ConfigError('SESSION_SECRET', 'takes at least 32 characters.');
  return value;
}

/** `off`, a hop count, or a list of addresses and networks. */
function trustProxy(env: Env): boolean | number | string[] {
  const value = text(env, 'TRUST_PROXY');
  if (value === undefined || value === 'off') return false;
  if (/^\d{1,2}$/.test(value)) return Number(value);
  const addresses = value.split(',').map((address) => address.trim());
  const named = /^(loopback|linklocal|uniquelocal|[0-9a-fA-F:.]+(\/\d{1,3})?)$/;
  if (!addresses.every((address) => named.test(address))) {
    throw new ConfigError(
      'TRUST_PROXY',
      `takes off, a number of hops, or addresses such as 10.0.0.0/8,loopback, not "${value}".`,
    );
  }
  return addresses;
}

function plans(env: Env): PlanCatalogue {
  const file = text(env, 'PLANS_FILE');
  if (file === undefined) return defaultPlans;
  try {
    return loadPlans(resolve(file));
  } catch (error) {
    throw new ConfigError(
      'PLANS_FILE',
      `takes a JSON file in the shape of GET /api/v1/plans: ${(error as Error).message}`,
    );
  }
}

/**
 * Reads and validates the configuration.
 *
 * @param env - the environment; variables that are empty count as unset
 * @throws ConfigError naming the first variable whose value is not taken, and what it takes
 */
export function loadConfig(env: Env = process.env): Config {
  const port = integer(env, 'PORT', 3000, 0, 65_535);
  const { publicUrl, publicUrlIsSet } = publicOrigin(env, port);
  const databaseUrl = postgresUrl(env, 'DATABASE_URL');
  return Object.freeze({
    port,
    host: text(env, 'HOST') ?? '127.0.0.1',
    publicUrl,
    publicUrlIsSet,
    databaseUrl,
    databaseDirectUrl: postgresUrl(env, 'DATABASE_DIRECT_URL') ?? databaseUrl,
    dataDir: resolve(text(env, 'DATA_DIR') ?? 'data'),
    sessionSecret: sessionSecret(env),
    plans: plans(env),
    signups: oneOf(env, 'SIGNUPS', ['open', 'closed'], 'open'),
    billing: oneOf(
      env,
      'BILLING',
      ['open', 'managed'],
      isLoopback(new URL(publicUrl).hostname) ? 'open' : 'managed',
    ),
    operatorContact: text(env, 'OPERATOR_CONTACT') ?? null,
    trustProxy: trustProxy(env),
    drainSeconds: integer(env, 'DRAIN_SECONDS', 30, 0, 3600),
    // An admission of yesterday may still be settled or found again today.
    requestLogDays: integer(env, 'REQUEST_LOG_DAYS', 90, 3, 3650),
    logLevel: oneOf(env, 'LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info'),
  });
}
