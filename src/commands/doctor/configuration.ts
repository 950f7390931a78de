/** Checks the environment: invalid variables, and settings that conflict. Contract section 13. */
import { type Config, isLoopback, loadConfig } from '../../config.ts';
import { ConfigError, type Env, text } from '../../environment.ts';
import { type Finding, isError, isWarning } from './finding.ts';

/** The number of letters to insert, remove, or replace. Swapping two neighbors counts as one. */
function distance(one: string, other: string): number {
  const rows = Array.from({ length: one.length + 1 }, (_, row) => [row, ...Array(other.length).fill(0)]);
  rows[0] = Array.from({ length: other.length + 1 }, (_, column) => column);
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= one.length; row += 1)
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const best = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
      );
      (rows[row] as number[])[column] = isSwapped ? Math.min(best, at(row - 2, column - 2) + 1) : best;
    }
  return at(one.length, other.length);
}

/** The names of all variables that the configuration reads. */
function settingNames(): string[] {
  const names = new Set<string>();
  const recordingEnv = new Proxy({} as Env, {
    get: (_target, name) => {
      names.add(String(name));
      return undefined;
    },
  });
  loadConfig(recordingEnv);
  return [...names];
}

/** Warns about names that almost match a setting. Ignores short names, because many of them are similar. */
function misspelled(env: Env): Finding[] {
  const settings = settingNames();
  return Object.keys(env).flatMap((name) => {
    if (settings.includes(name) || name.length < 8) return [];
    const meant = settings.find((known) => known.length >= 8 && distance(name, known) <= 2);
    if (meant === undefined) return [];
    return [isWarning(name, 'This variable has no effect.', `If you mean ${meant}, rename it.`)];
  });
}

/** Returns the configuration without its invalid variables, and a finding for each of them. */
export function readConfiguration(env: Env): { config: Config; findings: Finding[] } {
  const findings: Finding[] = misspelled(env);
  const rest: Record<string, string | undefined> = { ...env };
  for (;;) {
    try {
      return { config: loadConfig(rest), findings };
    } catch (error) {
      if (!(error instanceof ConfigError) || rest[error.variable] === undefined) throw error;
      delete rest[error.variable];
      const problem = error.message.slice(`${error.variable} `.length);
      findings.push(
        isError(
          error.variable,
          `The value is invalid: it ${problem.replace(/\.?$/, '.')}`,
          `Correct or remove ${error.variable}. The service does not start with an invalid value.`,
        ),
      );
    }
  }
}

const isGuessable = (secret: string) =>
  new Set(secret).size < 10 || /change.?me|secret|password|example|0123456789|abcdefgh/i.test(secret);

function secrets(env: Env, config: Config): Finding[] {
  const findings: Finding[] = [];
  if (config.sessionSecrets?.some(isGuessable))
    findings.push(
      isError(
        'SESSION_SECRET',
        'The secret can be guessed. Anyone who guesses it can forge session cookies.',
        'Set it to the output of: openssl rand -hex 32',
      ),
    );
  if (config.metricsToken !== undefined && config.metricsToken.length < 16)
    findings.push(
      isWarning(
        'METRICS_TOKEN',
        'The token is shorter than 16 characters and can be guessed.',
        'Set it to the output of: openssl rand -hex 16',
      ),
    );
  if (config.webhookTargets === 'any' && config.signups === 'open' && !isLoopback(config.host))
    findings.push(
      isWarning(
        'WEBHOOK_TARGETS',
        'Anyone can sign up, and make this machine send requests to addresses in your network.',
        'Remove WEBHOOK_TARGETS, or set SIGNUPS to closed.',
      ),
    );
  if (text(env, 'NODE_TLS_REJECT_UNAUTHORIZED') === '0')
    findings.push(
      isError(
        'NODE_TLS_REJECT_UNAUTHORIZED',
        'Certificates are not checked, so anyone on the network can read requests and keys for upstreams.',
        'Remove this variable. To trust your own certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.',
      ),
    );
  return findings;
}

function reachability(config: Config): Finding[] {
  const findings: Finding[] = [];
  const isOpen = !isLoopback(config.host);
  const url = new URL(config.publicUrl);
  const isPublic = !isLoopback(url.hostname);
  if (isOpen && !config.publicUrlIsSet)
    findings.push(
      isError(
        'PUBLIC_URL',
        `The service listens on ${config.host}, but PUBLIC_URL is not set, so browsers on other machines cannot sign in over http.`,
        'Set PUBLIC_URL to the address that people open, such as https://chat.example.com.',
      ),
    );
  if (isPublic && url.protocol === 'http:')
    findings.push(
      isWarning(
        'PUBLIC_URL',
        'People sign in over http, so passwords and cookies can be read on the network.',
        'Put a proxy with https in front of the service, and change PUBLIC_URL to its https address.',
      ),
    );
  if (isPublic && url.protocol === 'https:' && !config.trustProxyIsSet)
    findings.push(
      isWarning(
        'TRUST_PROXY',
        "PUBLIC_URL is https, so a proxy is in front of the service, but it is not trusted: all clients share the proxy's address and its rate limits.",
        'Set TRUST_PROXY to the number of proxies, such as 1, or to their addresses.',
      ),
    );
  if (isOpen && typeof config.trustProxy === 'number' && config.trustProxy > 0)
    findings.push(
      isWarning(
        'TRUST_PROXY',
        `The service listens on ${config.host} and trusts forwarded addresses from any sender. A client that bypasses the proxy can spoof any address.`,
        'Set TRUST_PROXY to the addresses of the proxies, or HOST to an address that only the proxies can reach.',
      ),
    );
  if (isPublic && config.billing === 'open')
    findings.push(
      isWarning(
        'BILLING',
        'Every user of this public service can switch to the largest plan.',
        'Set BILLING to managed.',
      ),
    );
  if (isPublic && config.signups === 'closed' && config.operatorContact === null)
    findings.push(
      isWarning(
        'OPERATOR_CONTACT',
        'Sign-ups are closed, but the service does not say whom to ask for an account.',
        'Set OPERATOR_CONTACT to an email address.',
      ),
    );
  if (isPublic && config.databaseUrl === undefined)
    findings.push(
      isWarning(
        'DATABASE_URL',
        'This public service uses the embedded database, which a power failure can destroy.',
        'Use a Postgres server: see "npx parley export --help".',
      ),
    );
  if (config.readyDelaySeconds >= config.drainSeconds && config.drainSeconds > 0)
    findings.push(
      isWarning(
        'READY_DELAY_SECONDS',
        'It uses up all of DRAIN_SECONDS, so no time is left to finish requests at shutdown.',
        `Set DRAIN_SECONDS above ${config.readyDelaySeconds}, or lower READY_DELAY_SECONDS.`,
      ),
    );
  return findings;
}

/** Checks settings that are valid separately, but unsafe or useless together. */
export const checkSettings = (env: Env, config: Config): Finding[] => [
  ...secrets(env, config),
  ...reachability(config),
];
