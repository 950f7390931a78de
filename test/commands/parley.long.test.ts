/** `npx parley` while the service runs: on Postgres, and on the embedded database through the service's socket. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { commands } from '../../src/commands/index.ts';
import { loadConfig } from '../../src/config.ts';
import { startService } from '../../src/service.ts';
import { cookieOf } from '../support/dashboard.ts';
import { Client, type OpenApi } from '../support/http.ts';
import { parley } from '../support/parley.ts';
import { onEachDatabase, type TestService } from '../support/service.ts';

/** Runs a command with `--json`, and returns the parsed output. */
async function json(t: Test, env: Record<string, string>, ...args: string[]) {
  const outcome = await parley(env, ...args, '--json');
  t.match(outcome, { code: 0, stderr: '' }, args.join(' '));
  return JSON.parse(outcome.stdout);
}

const chat = ({ client }: Pick<TestService, 'client'>, key: string) =>
  client.post('/chat', { message: 'What is a key?' }, { key });

onEachDatabase(t, { SIGNUPS: 'closed', OPERATOR_CONTACT: 'ops@example.com' }, async (t, service) => {
  const { client, env } = service;
  const email = 'ada@example.com';
  const { password } = await json(t, env, 'accounts', 'create', email, '--plan', 'plus');
  const signIn = () => client.post('/auth/login', { email, password });
  const cookie = cookieOf(await signIn());
  const { body: key } = await client.post('/keys', { name: 'a program', scopes: ['chat'] }, { cookie });

  t.test('a created account can sign in, and its email address cannot be reused', async (t) => {
    t.match(await client.get('/account', { cookie }), { status: 200, body: { plan: 'plus' } });
    t.match(await parley(env, 'accounts', 'create', 'ADA@example.com'), {
      code: 1,
      stdout: '',
      stderr: /^An account with the email address ADA@example\.com already exists\.\n$/,
    });
    t.match(await parley(env, 'accounts', 'create', 'ada'), { code: 1, stderr: /not an email address/ });
  });

  t.test(
    'suspending an account ends its sessions and rejects its keys and sign-ins, and resuming restores its keys',
    async (t) => {
      t.equal((await chat(service, key.key)).status, 200);
      const shown = await json(t, env, 'accounts', 'suspend', email);
      t.type(shown.suspended_at, 'string');
      t.match(await chat(service, key.key), {
        status: 401,
        body: { error: { code: 'apiKeyRevoked', message: /^The operator suspended the account/ } },
      });
      t.match(await client.get('/account', { cookie }), {
        status: 401,
        body: { error: { code: 'sessionRequired' } },
      });
      t.match(await signIn(), {
        status: 401,
        body: { error: { code: 'invalidLogin', message: /suspended\..*ops@example\.com/ } },
      });
      const wrong = await client.post('/auth/login', { email, password: 'another password' });
      t.notMatch(wrong.body.error.message, /suspended/, 'only the correct password reveals the suspension');
      t.match(await json(t, env, 'keys', 'find', key.key_prefix), { keys: [{ state: 'account suspended' }] });
      t.match(await json(t, env, 'accounts', 'list', '--suspended'), { accounts: [{ email }] });

      await json(t, env, 'accounts', 'resume', email);
      t.equal((await chat(service, key.key)).status, 200);
      t.equal((await client.get('/account', { cookie })).status, 401, 'resuming does not restore sessions');
      const events = await client.get('/events', { cookie: cookieOf(await signIn()) });
      const types = events.body.data.map(({ type }: { type: string }) => type);
      t.strictSame(
        types.filter((type: string) => /^account/.test(type)),
        ['accountResumed', 'accountSuspended', 'accountCreated'],
      );
      t.match(await json(t, env, 'accounts', 'list', '--suspended'), { accounts: [], has_more: false });
    },
  );

  t.test('keys are found by a partial prefix, and revoked by the full prefix', async (t) => {
    const part = key.key_prefix.slice(0, 'parley_'.length + 4);
    t.match(await json(t, env, 'keys', 'find', part), {
      keys: [{ prefix: key.key_prefix, email, name: 'a program', state: 'active' }],
    });
    const { stdout } = await parley(env, 'keys', 'find', key.key);
    t.match(stdout, key.key_prefix);
    t.notMatch(stdout, key.key, 'the output does not contain the key');
    t.match(await parley(env, 'keys', 'revoke', part), { code: 1, stderr: /enter its full prefix/ });
    t.equal((await chat(service, key.key)).status, 200);
    t.match(await json(t, env, 'keys', 'revoke', key.key_prefix), { state: 'revoked' });
    t.match(await chat(service, key.key), {
      status: 401,
      body: { error: { code: 'apiKeyRevoked', message: /revoked or replaced/ } },
    });
    t.match(await parley(env, 'keys', 'revoke', key.key_prefix), {
      code: 1,
      stderr: /is not active \(revoked\)/,
    });
  });

  t.test('accounts are listed newest first, with a limit and filters', async (t) => {
    await json(t, env, 'accounts', 'create', 'bob_1@example.com');
    t.match(await json(t, env, 'accounts', 'list', '--limit', '1'), {
      accounts: [{ email: 'bob_1@example.com' }],
      has_more: true,
    });
    t.match(await json(t, env, 'accounts', 'list', '--search', 'B_1'), {
      accounts: [{ email: 'bob_1@example.com' }],
    });
    t.match(await json(t, env, 'accounts', 'list', '--plan', 'pro'), { accounts: [] });
    t.match((await json(t, env, 'accounts', 'show', email)).active_keys, 0);
    t.match(await parley(env, 'accounts', 'list', '--limit', 'many'), { code: 2, stderr: /whole number/ });
  });

  t.test('usage and audit match the requests', async (t) => {
    const { usage } = await json(t, env, 'usage', email, '--days', '1');
    t.match(usage, [{ meter: 'chat', used: 3 }]);
    t.match(await json(t, env, 'audit'), { differences: [], open_charges: 0 });
  });

  t.test('accounts delete requires --yes', async (t) => {
    t.match(await parley(env, 'accounts', 'delete', 'bob_1@example.com'), { code: 2, stderr: /add --yes/ });
    await json(t, env, 'accounts', 'delete', 'bob_1@example.com', '--yes');
    t.match(await parley(env, 'accounts', 'show', 'bob_1@example.com'), {
      code: 1,
      stderr: /^There is no account/,
    });
  });

  t.test('a service starts from a backup of the running embedded database with all its data', async (t) => {
    const folder = join(t.testdir(), 'copy');
    if (service.kind === 'postgres') {
      t.match(await parley(env, 'backup', folder), { code: 1, stderr: /pg_dump/ });
      return;
    }
    await json(t, env, 'backup', folder);
    t.match(await parley(env, 'backup', folder), { code: 1, stderr: /is not empty/ });
    const restored = await startService(loadConfig({ ...env, DATA_DIR: folder }));
    t.teardown(() => restored.stop());
    const document = restored.app.swagger() as unknown as OpenApi;
    const other = new Client(`http://127.0.0.1:${restored.port}`, document);
    const { body } = await other.post('/auth/login', { email, password });
    t.match(body, { email, plan: 'plus' });
    t.match(await json(t, { ...env, DATA_DIR: folder }, 'audit'), { differences: [] });
  });
});

t.test('every command has --help, and wrong usage exits with 2', async (t) => {
  const helps = await Promise.all(commands.map(({ name }) => parley({}, ...name.split(' '), '--help')));
  for (const [index, { name, summary }] of commands.entries()) {
    t.match(helps[index], { code: 0, stderr: '' }, name);
    t.ok(helps[index]?.stdout.startsWith(`${summary}\n\nUsage: npx parley ${name}`), name);
  }
  const all = await parley({}, '--help');
  for (const { name } of commands) t.ok(all.stdout.includes(`\n  ${name} `), name);
  t.match(await parley({}), { code: 2, stdout: '' });
  t.match(await parley({}, 'accounts'), { code: 2, stderr: /accounts suspend EMAIL/ });
  t.match(await parley({}, 'accounts', 'show'), { code: 2, stderr: /^This command takes EMAIL\. Usage: / });
  t.match(await parley({}, 'audit', '--wide'), { code: 2, stderr: /^Unknown option '--wide'/ });
});
