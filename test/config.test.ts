import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { loadConfig } from '../src/config.ts';
import { defaultPlans } from '../src/domain/plans.ts';
import { projectRoot } from '../src/project.ts';

t.test('every variable is optional', async (t) => {
  const config = loadConfig({});
  t.match(config, {
    port: 3000,
    databaseConnections: 20,
    workers: 1,
    host: '127.0.0.1',
    publicUrl: 'http://localhost:3000',
    publicUrlIsSet: false,
    signups: 'open',
    billing: 'open',
    operatorContact: null,
    trustProxy: 0,
    trustProxyIsSet: false,
    authAttemptsPerMinute: 10,
    drainSeconds: 30,
    readyDelaySeconds: 5,
    requestLogDays: 90,
    logLevel: 'info',
    answerLimits: { characters: 2_000_000, milliseconds: 1_800_000 },
    unreadMs: 60_000,
    callsPerAccount: 100,
    streamsPerAccount: 20,
    chatHistoryCharacters: undefined,
    bodyMemoryBytes: 64 * 1024 * 1024,
  });
  t.equal(config.databaseUrl, undefined);
  t.equal(config.redisUrl, undefined);
});

t.test('71: BILLING is managed unless HOST and PUBLIC_URL are on loopback', async (t) => {
  const billing = (HOST: string, env: Record<string, string> = {}) => loadConfig({ HOST, ...env }).billing;
  for (const host of [
    '0.0.0.0',
    '::',
    '192.168.1.5',
    '2001:db8::1',
    'chat.example.com',
    'localhost.example.com',
    '127.example.com',
  ])
    t.equal(billing(host), 'managed', host);
  for (const host of [
    '127.0.0.1',
    '127.1.2.3',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    'localhost',
    'LOCALHOST',
  ])
    t.equal(billing(host), 'open', host);
  t.equal(billing('0.0.0.0', { PUBLIC_URL: 'http://localhost:3000' }), 'managed');
  t.equal(billing('127.0.0.1', { PUBLIC_URL: 'https://chat.example.com' }), 'managed');
  t.equal(billing('0.0.0.0', { BILLING: 'open' }), 'open');
  t.equal(loadConfig({ PUBLIC_URL: 'https://chat.example.com' }).billing, 'managed');
  t.equal(loadConfig({ PUBLIC_URL: 'http://127.0.0.1:3000' }).billing, 'open');
  t.equal(loadConfig({ PUBLIC_URL: 'https://chat.example.com', BILLING: 'open' }).billing, 'open');
});

t.test(
  'SESSION_SECRET accepts several comma-separated secrets if each has at least 32 characters',
  async (t) => {
    const [one, other] = ['a'.repeat(32), 'b'.repeat(40)];
    const secrets = (SESSION_SECRET: string) => loadConfig({ SESSION_SECRET }).sessionSecrets;
    t.strictSame(secrets(one), [one]);
    t.strictSame(secrets(`${one},${other}`), [one, other]);
    t.strictSame(secrets(` ${one} , ${other} `), [one, other]);
    t.strictSame(
      secrets(`${one},short`),
      [`${one},short`],
      'otherwise, the comma is part of a single secret',
    );
    t.equal(loadConfig({}).sessionSecrets, undefined);
  },
);

t.test('SIGNUPS_PER_ADDRESS_PER_DAY defaults to 20, and applies to loopback only when set', async (t) => {
  t.strictSame(loadConfig({}).signupsPerAddressPerDay, { count: 20, limitsLoopback: false });
  t.strictSame(loadConfig({ SIGNUPS_PER_ADDRESS_PER_DAY: '3' }).signupsPerAddressPerDay, {
    count: 3,
    limitsLoopback: true,
  });
});

t.test(
  'an invalid value is rejected in one line that names the variable and its accepted values',
  async (t) => {
    const wrong: Record<string, string> = {
      PORT: 'abc',
      PUBLIC_URL: 'https://chat.example.com/path',
      DATABASE_URL: 'mysql://x:secret@y/z',
      DATABASE_DIRECT_URL: 'nonsense',
      DATABASE_CONNECTIONS: '9',
      SESSION_SECRET: 'short',
      SIGNUPS: 'maybe',
      BILLING: 'free',
      TRUST_PROXY: 'yes please',
      DRAIN_SECONDS: '-1',
      READY_DELAY_SECONDS: 'soon',
      REDIS_URL: 'memcached://x:secret@y',
      AUTH_ATTEMPTS_PER_MINUTE: '0',
      SIGNUPS_PER_ADDRESS_PER_DAY: '0',
      REQUEST_LOG_DAYS: '2',
      LOG_LEVEL: 'loud',
      SECURITY_CONTACT: 'ask Ada',
      PLANS_FILE: '/nowhere/plans.json',
      CHAT_URL: 'localhost:11434',
      CHAT_API_KEY: 'sk-1',
      CHAT_MODEL: 'llama3.2',
      IMAGES_URL: 'ftp://images.example.com',
      IMAGES_API_KEY: 'sk-1',
      IMAGES_MODEL: 'painter',
      EMBEDDINGS_URL: 'embeddings.example.com',
      EMBEDDINGS_API_KEY: 'sk-1',
      EMBEDDINGS_MODEL: 'embedder',
      SEARCH_URL: 'http://me:secret@search.example.com',
      CHAT_HISTORY_CHARACTERS: '-1',
      STREAMS_PER_ACCOUNT: '0',
      CHAT_FIELDS: 'a b',
      IMAGE_HOSTS: 'https://images.example.com/',
      CHAT_MODEL_ALIASES: 'claude-*',
      CALLS_PER_ACCOUNT: '0',
      BODY_MEMORY_MB: '23',
      UPSTREAM_FIRST_BYTE_SECONDS: '0',
      UPSTREAM_IDLE_SECONDS: 'long',
      UPSTREAM_CONNECTIONS: '0',
      WEBHOOK_TARGETS: 'private',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318',
      OTEL_TRACES_SAMPLER: 'sometimes',
      OTEL_TRACES_SAMPLER_ARG: '2',
    };
    for (const [name, value] of Object.entries(wrong)) {
      t.throws(
        () => loadConfig({ [name]: value }),
        { name: 'ConfigError', message: new RegExp(`^${name} (must|requires) .+$`) },
        name,
      );
    }
    t.throws(() => loadConfig({ TRUST_PROXY: '10.0.0.0/99' }), { message: /^TRUST_PROXY must/ });
    t.throws(() => loadConfig({ DATABASE_URL: 'postgres://[' }), { message: /^DATABASE_URL must/ });
    for (const [name, value] of [
      ['DATABASE_URL', 'mysql://x:secret@y/z'],
      ['REDIS_URL', 'rediss//x:secret@y'],
    ] as const) {
      t.throws(
        () => loadConfig({ [name]: value }),
        { message: /^(?!.*secret)/ },
        `${name}: the message does not contain the password`,
      );
    }
  },
);

t.test('chat, images, search, and embeddings each have an optional upstream', async (t) => {
  t.match(loadConfig({}), {
    chat: undefined,
    images: undefined,
    search: undefined,
    embeddings: undefined,
  });
  const EMBEDDINGS_URL = 'http://localhost:11434/v1';
  const embeddings = (EMBEDDINGS_MODEL: string) =>
    loadConfig({ EMBEDDINGS_URL, EMBEDDINGS_MODEL, EMBEDDINGS_API_KEY: 'sk-1' }).embeddings;
  t.same(embeddings(''), { url: EMBEDDINGS_URL, apiKey: 'sk-1', models: [] });
  t.same(embeddings('bge-m3')?.models, [{ id: 'bge-m3', upstream: 'bge-m3' }]);
  t.same(embeddings('text-embedding-3-small=bge-m3, nomic')?.models, [
    { id: 'text-embedding-3-small', upstream: 'bge-m3' },
    { id: 'nomic', upstream: 'nomic' },
  ]);
  t.match(loadConfig({}), { callsPerAccount: 100, streamsPerAccount: 20 });
  t.same(loadConfig({}).upstreamLimits, {
    firstByteTimeoutMs: 120_000,
    idleTimeoutMs: 60_000,
    connections: 1000,
  });
  const { chat, images, search, upstreamLimits } = loadConfig({
    CHAT_URL: 'http://localhost:11434/v1',
    CHAT_MODEL: 'fast=llama3.2:1b, good=llama3.1:70b',
    IMAGES_URL: 'https://images.example.com/v1?version=2',
    IMAGES_API_KEY: 'sk-1',
    SEARCH_URL: 'http://localhost:8888/search',
    UPSTREAM_FIRST_BYTE_SECONDS: '5',
  });
  t.same(chat, {
    url: 'http://localhost:11434/v1',
    apiKey: undefined,
    models: {
      kind: 'exact',
      models: [
        { id: 'fast', upstream: 'llama3.2:1b' },
        { id: 'good', upstream: 'llama3.1:70b' },
      ],
    },
    kind: 'openai',
  });
  t.equal(loadConfig({ CHAT_URL: 'http://localhost:8000', CHAT_KIND: 'anthropic' }).chat?.kind, 'anthropic');
  t.same(images, { url: 'https://images.example.com/v1?version=2', apiKey: 'sk-1', model: undefined });
  t.same(search, { url: 'http://localhost:8888/search' });
  t.equal(upstreamLimits.firstByteTimeoutMs, 5000);
});

t.test('an error in an upstream setting names the variable and does not contain the API key', async (t) => {
  const CHAT_URL = 'http://localhost:11434/v1';
  const wrong: [Record<string, string>, RegExp][] = [
    [{ CHAT_KIND: 'anthropic' }, /^CHAT_KIND requires CHAT_URL/],
    [{ CHAT_URL, CHAT_KIND: 'gemini' }, /^CHAT_KIND must be openai, openai-responses, or anthropic/],
    [{ CHAT_URL: `${CHAT_URL}/messages`, CHAT_KIND: 'anthropic' }, /^CHAT_URL must be the base URL/],
    [
      { CHAT_URL: `${CHAT_URL}/chat/completions` },
      /^CHAT_URL must be the base URL.+without \/chat\/completions/,
    ],
    [{ CHAT_URL: `${CHAT_URL}#sk-secret` }, /^CHAT_URL must(?!.*secret)/],
    [{ CHAT_URL, CHAT_API_KEY: 'sk-secret with spaces' }, /^CHAT_API_KEY must(?!.*secret)/],
    [{ CHAT_URL, CHAT_MODEL: 'a=b=c' }, /^CHAT_MODEL must list names/],
    [{ CHAT_URL, CHAT_MODEL: 'a,,b' }, /^CHAT_MODEL has an empty entry/],
    [
      { EMBEDDINGS_URL: `${CHAT_URL}/embeddings/` },
      /^EMBEDDINGS_URL must be the base URL.+without \/embeddings/,
    ],
    [{ EMBEDDINGS_URL: CHAT_URL, EMBEDDINGS_MODEL: 'a=b=c' }, /^EMBEDDINGS_MODEL must list names/],
    [{ EMBEDDINGS_API_KEY: 'sk-secret' }, /^EMBEDDINGS_API_KEY requires EMBEDDINGS_URL(?!.*secret)/],
    [{ IMAGES_API_KEY: 'sk-secret' }, /^IMAGES_API_KEY requires IMAGES_URL(?!.*secret)/],
  ];
  for (const [env, message] of wrong) t.throws(() => loadConfig(env), { name: 'ConfigError', message });
});

t.test('WORKERS accepts a number or auto, requires Postgres, and shares DATABASE_CONNECTIONS', async (t) => {
  const DATABASE_URL = 'postgres://localhost/parley';
  const load = (env: Record<string, string>) => {
    const { databaseConnections, workers } = loadConfig({ DATABASE_URL, ...env });
    return [workers, databaseConnections];
  };
  t.same(load({ WORKERS: '2' }), [2, 20]);
  t.same(load({ WORKERS: '4' }), [4, 40], 'each worker gets its minimum of 10 connections');
  t.same(load({ WORKERS: '4', DATABASE_CONNECTIONS: '60' }), [4, 60]);
  const cores = availableParallelism();
  t.same(load({ WORKERS: 'auto' }), [cores, Math.max(20, 10 * cores)]);
  t.equal(loadConfig({ WORKERS: '1' }).workers, 1, 'one worker does not require Postgres');
  const wrong: [Record<string, string>, RegExp][] = [
    [{ WORKERS: '0', DATABASE_URL }, /^WORKERS must be auto or a whole number from 1 to 64, not "0"\.$/],
    [{ WORKERS: 'all', DATABASE_URL }, /^WORKERS must be auto or a whole number from 1 to 64, not "all"\.$/],
    [{ WORKERS: '65', DATABASE_URL }, /^WORKERS must be auto or/],
    [{ WORKERS: '2' }, /^WORKERS must be 1 with the embedded database, [^\n]+DATABASE_URL/],
    [{ WORKERS: 'auto' }, /^WORKERS must be 1 with the embedded database/],
    [
      { WORKERS: '4', DATABASE_CONNECTIONS: '30', DATABASE_URL },
      /^DATABASE_CONNECTIONS must be at least 40 /,
    ],
  ];
  for (const [env, message] of wrong) t.throws(() => loadConfig(env), { name: 'ConfigError', message });
});

t.test('TRUST_PROXY accepts off, a number of hops, or a list of addresses', async (t) => {
  t.equal(loadConfig({ TRUST_PROXY: 'off' }).trustProxy, 0);
  t.equal(loadConfig({ TRUST_PROXY: '0' }).trustProxy, 0);
  t.equal(loadConfig({ TRUST_PROXY: '2' }).trustProxy, 2);
  t.same(loadConfig({ TRUST_PROXY: 'loopback, 10.0.0.0/8' }).trustProxy, ['loopback', '10.0.0.0/8']);
});

t.test(
  'SECURITY_CONTACT accepts values that convert to a URI, and falls back to OPERATOR_CONTACT if that converts',
  async (t) => {
    const contactOf = (env: Record<string, string>) => loadConfig(env).securityContact;
    t.equal(contactOf({}), undefined);
    t.equal(contactOf({ OPERATOR_CONTACT: 'the desk on the second floor' }), undefined);
    t.equal(contactOf({ OPERATOR_CONTACT: 'ops@example.com' }), 'mailto:ops@example.com');
    for (const [value, uri] of [
      ['security+parley@example.com', 'mailto:security%2Bparley@example.com'],
      ['mailto:security@example.com', 'mailto:security@example.com'],
      ['https://example.com/report', 'https://example.com/report'],
      ['+1 (201) 555-0123', 'tel:+12015550123'],
      ['tel:+1-201-555-0123', 'tel:+1-201-555-0123'],
    ] as const)
      t.equal(contactOf({ SECURITY_CONTACT: value, OPERATOR_CONTACT: 'ops@example.com' }), uri);
    for (const value of [
      'http://example.com/report',
      'https://',
      'javascript:alert(1)',
      'a@b',
      'mailto:',
      'ops@example.com\nExpires: x',
    ])
      t.throws(() => contactOf({ SECURITY_CONTACT: value }), { message: /^SECURITY_CONTACT must/ }, value);
  },
);

t.test('the default plans match the contract, and yearly billing saves 17%', async (t) => {
  t.same(
    defaultPlans.plans.map(({ id, limits, monthly_price_cents, requests_per_minute, yearly_price_cents }) => [
      id,
      monthly_price_cents,
      yearly_price_cents,
      limits.chat,
      limits.images,
      limits.search,
      requests_per_minute,
    ]),
    [
      ['free', 0, 0, 50, 5, 50, 20],
      ['plus', 1000, 9960, 1000, 50, 500, 60],
      ['pro', 3000, 29_880, 10_000, 500, 5000, 300],
    ],
  );
});

t.test('PLANS_FILE replaces the default plans, and an invalid file is rejected', async (t) => {
  const folder = mkdtempSync(join(t.testdir(), 'plans-'));
  const load = (content: unknown) => {
    const file = join(folder, 'plans.json');
    writeFileSync(file, JSON.stringify(content));
    return loadConfig({ PLANS_FILE: file }).plans;
  };
  const plan = {
    id: 'team',
    name: 'Team',
    currency: 'EUR',
    monthly_price_cents: 999,
    limits: { chat: 3, images: null, search: 0 },
    requests_per_minute: 10,
  };
  t.match(load({ data: [plan] }).standard, {
    id: 'team',
    yearly_price_cents: 9950,
    limits: { images: null },
  });
  t.notOk(
    'embeddings' in load({ data: [plan] }).standard.limits,
    'meters that were added later are optional',
  );
  const embedding = { ...plan, limits: { ...plan.limits, embeddings: null } };
  t.equal(load({ data: [embedding] }).standard.limits.embeddings, null);
  t.throws(() => load({ data: [] }), { message: /^PLANS_FILE must/ });
  t.throws(() => load({ data: [plan, plan] }), { message: /same ID/ });
  t.throws(() => load({ data: [{ ...plan, yearly_price_cents: 1 }] }), { message: /must be 9950/ });
  t.throws(() => load({ data: [{ ...plan, limits: { chat: -1, images: 0, search: 0 } }] }), {
    message: /limits/,
  });
  t.throws(() => load({ data: [{ ...plan, extra: true }] }), { message: /^PLANS_FILE must/ });
});

t.test(
  'CHAT_FIELDS adds fields, except those that select a model or differ from a known field only in case',
  async (t) => {
    t.same(loadConfig({}).chatFields, []);
    t.same(loadConfig({ CHAT_FIELDS: 'mirostat, grammar,mirostat,top_k' }).chatFields, [
      'mirostat',
      'grammar',
      'top_k',
    ]);
    for (const name of [
      'best_of',
      'Models',
      'provider',
      'service_tier',
      'Top_K',
      'N',
      'a,A',
      '__proto__',
      'x'.repeat(65),
    ])
      t.throws(() => loadConfig({ CHAT_FIELDS: name }), { message: /^CHAT_FIELDS must / }, name);
  },
);

t.test('CHAT_MODEL_ALIASES maps names and name prefixes to models', async (t) => {
  const { beginnings, exact } = loadConfig({
    CHAT_MODEL_ALIASES: ' a*=x, fast = org/m:1 ,abc*=y,*=z',
  }).chatModelAliases;
  t.same([...exact], [['fast', 'org/m:1']]);
  t.same(beginnings, [
    ['abc', 'y'],
    ['a', 'x'],
    ['', 'z'],
  ]);
  t.same(loadConfig({}).chatModelAliases, { exact: new Map(), beginnings: [] });
  for (const value of [
    'fast',
    'a=b=c',
    '=x',
    'a=',
    'a*b=x',
    '**=x',
    'a=x*',
    'a=x,',
    ',',
    `${'a'.repeat(201)}=x`,
    'a\tb=x',
  ])
    t.throws(
      () => loadConfig({ CHAT_MODEL_ALIASES: value }),
      { message: /^CHAT_MODEL_ALIASES must list aliases such as [^\n]+$/ },
      value,
    );
  for (const value of ['a=x,a=y', 'a*=x,a*=x'])
    t.throws(() => loadConfig({ CHAT_MODEL_ALIASES: value }), {
      message: /^CHAT_MODEL_ALIASES lists the alias/,
    });
  const many = Array.from({ length: 1001 }, (_, index) => `a${index}=x`).join(',');
  t.throws(() => loadConfig({ CHAT_MODEL_ALIASES: many }), {
    message: /^CHAT_MODEL_ALIASES must list at most/,
  });
});

t.test('IMAGE_HOSTS accepts hosts, and normalizes them like the URL parser', async (t) => {
  t.same(
    [...loadConfig({ IMAGE_HOSTS: 'Images.Internal., 10.5,[FD00:0::5]' }).imageHosts],
    ['images.internal', '10.0.0.5', '[fd00::5]'],
  );
  for (const host of ['a/b', 'a:80', 'user@a', 'a b', '[::1', 'a?'])
    t.throws(() => loadConfig({ IMAGE_HOSTS: host }), { message: /^IMAGE_HOSTS must / }, host);
});

t.test(
  'the guide and the contract list every variable that the service reads, the guide with its default',
  async (t) => {
    const guide = readFileSync(new URL('docs/guides/running-parley.md', projectRoot), 'utf8');
    const [, table = ''] = /\| Variable \| Default \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(guide) ?? [];
    const rows = table
      .trimEnd()
      .split('\n')
      .map((row) => row.split(' | ').map((cell) => cell.replace(/^\| |`/g, '')));
    const documented = rows.flatMap(([first = '', second = '']) => {
      const [names, values] = [first.split(', '), second.split(', ')];
      const isOneEach = names.length === values.length;
      return names.map((name, index) => [name, (isOneEach && values[index]) || second] as const);
    });

    const read = new Set<string>();
    const env = new Proxy({} as Record<string, string>, {
      get(_, name) {
        read.add(String(name));
        return undefined;
      },
    });
    const { trustProxyIsSet, ...defaults } = loadConfig(env);
    t.same(documented.map(([name]) => name).sort(), [...read].sort());
    const contract = readFileSync(new URL('docs/spec/contract.md', projectRoot), 'utf8');
    const [, settings = ''] = /\n## 13\. ([\s\S]*?)\n## 14\. /.exec(contract) ?? [];
    const missing = [...read].filter((name) => !settings.includes(`\`${name}\``));
    t.same(missing, [], 'contract section 13 lists each one, too');
    for (const [name, value] of documented.filter(([, value]) => /^([\d.]+|[a-z]+)$/.test(value))) {
      const { trustProxyIsSet, ...config } = loadConfig(value === 'none' ? {} : { [name]: value });
      t.same(config, defaults, `${name}=${value}`);
    }
  },
);
