import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import t, { type Test } from 'tap';
import { runOperatorCommand } from '../../src/commands/operator.ts';
import { loadConfig } from '../../src/config.ts';
import { type Database, openDatabase } from '../../src/database/client.ts';
import { hashPassword, verifyPassword } from '../../src/domain/passwords.ts';
import { type Service, startService } from '../../src/service.ts';
import { createAccount, findByEmail } from '../../src/store/accounts.ts';
import { createSession, listSessions } from '../../src/store/sessions.ts';
import { cookieOf, manyAttempts } from '../support/dashboard.ts';
import { builtProgram } from '../support/loader.ts';
import { freshDatabase, startTestService } from '../support/service.ts';

type Outcome = { code: number; stdout: string; stderr: string };

/** Runs a command as the operator does. */
function run(command: string, args: string[], env: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [builtProgram(`commands/${command}`), ...args],
      { env: { PATH: process.env.PATH, ...env } },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
}

const passwordIn = (text: string) => /: ([2-9a-z]{5}(?:-[2-9a-z]{5}){3})$/m.exec(text)?.[1] ?? '';

/** Expects a failure to print one line to standard error, and nothing else. */
function failed(t: Test, outcome: Outcome, line: RegExp, code = 1) {
  t.match(outcome, { code, stdout: '' });
  t.match(outcome.stderr, line);
  t.equal(outcome.stderr.trimEnd().split('\n').length, 1, outcome.stderr);
}

async function addAccount({ db }: Database, email: string) {
  const passwordHash = await hashPassword('forgotten');
  const account = await createAccount(db, { email, passwordHash, plan: 'free' }, null);
  await createSession(
    db,
    account,
    `secret of ${email}`,
    { address: '192.0.2.1', userAgent: '' },
    { isNewDevice: false },
  );
  return account;
}

const service = await startTestService(t, 'postgres', { BILLING: 'managed', ...manyAttempts });
const { app, client, database } = service;
const context = { db: database.db, config: app.config };

t.test(
  'reset-password prints a password that works, invalidates the old one, and ends every session',
  async (t) => {
    const { cookie, email, password } = await client.signUp();
    const lines = await runOperatorCommand(context, 'reset-password', [email.toUpperCase()]);
    const fresh = passwordIn(lines.join('\n'));
    t.equal((await client.get('/account', { cookie })).status, 401);
    t.equal((await client.post('/auth/login', { email, password })).status, 401);
    const answer = await client.post('/auth/login', { email, password: fresh });
    t.equal(answer.status, 200);
    t.equal((await client.get('/account', { cookie: cookieOf(answer) })).status, 200);
  },
);

t.test('set-plan takes effect immediately, even if owners cannot change their plan', async (t) => {
  const { cookie, email } = await client.signUp();
  await runOperatorCommand(context, 'set-plan', [email, 'pro', 'yearly']);
  t.match(await client.get('/account', { cookie }), {
    status: 200,
    body: { plan: 'pro', billing_period: 'yearly' },
  });
});

t.test('a rejected command throws a CommandError and changes nothing', async (t) => {
  await addAccount(database, 'ada@example.com');
  const refused = (name: string, args: string[], message: RegExp) =>
    t.rejects(runOperatorCommand(context, name, args), { name: 'CommandError', message });
  await refused(
    'reset-password',
    ['unknown@example.com'],
    /^There is no account with the email address unknown@example\.com\.$/,
  );
  await refused(
    'reset-password',
    [],
    /^This command takes EMAIL\. Usage: npx parley accounts reset-password EMAIL \[--json\]$/,
  );
  await refused(
    'set-plan',
    ['ada@example.com', 'gold', 'yearly'],
    /^There is no plan "gold"\. Available plans: free, plus, pro\.$/,
  );
  await refused(
    'set-plan',
    ['ada@example.com', 'pro', 'weekly'],
    /^There is no billing period "weekly"\. Available periods: monthly, yearly\.$/,
  );
  await refused('set-plan', ['unknown@example.com', 'pro', 'yearly'], /^There is no account/);
  await refused('set-plan', ['ada@example.com', 'pro'], /^This command takes EMAIL PLAN PERIOD\. Usage: /);
  await refused('no-such-command', [], /^There is no command "no-such-command"/);
  t.match(await findByEmail(database.db, 'ada@example.com'), { plan: 'free', billingPeriod: 'monthly' });
  await t.rejects(runOperatorCommand(undefined, 'reset-password', ['ada@example.com']), {
    message: /not ready yet/,
  });
});

t.test('a database error is reported without its statement or values', async (t) => {
  const empty = await openDatabase({ dataDir: t.testdir() });
  t.teardown(() => empty.close());
  await t.rejects(runOperatorCommand({ ...context, db: empty.db }, 'reset-password', ['ada@example.com']), {
    name: 'CommandError',
    message: 'The command failed: relation "accounts" does not exist',
  });
});

t.test('commands work on Postgres while the service runs', async (t) => {
  const { cookie, email } = await client.signUp();
  const reset = await run('reset-password', [email], service.env);
  t.match(reset, { code: 0, stderr: '' });
  t.equal((await client.get('/account', { cookie })).status, 401);
  t.equal((await client.post('/auth/login', { email, password: passwordIn(reset.stdout) })).status, 200);
});

t.test('commands work on the embedded database, whether or not the service runs', async (t) => {
  const { drop, env } = await freshDatabase('embedded');
  t.teardown(drop);
  const settings = { PORT: '0', LOG_LEVEL: 'silent', ...env };
  const running = await startService(loadConfig(settings));
  const accountOf = ({ database }: Service) => findByEmail(database.db, 'ada@example.com');
  const { id } = await addAccount(running.database, 'ada@example.com');

  const [reset, changed] = await Promise.all([
    run('reset-password', ['ada@example.com'], env),
    run('set-plan', ['ada@example.com', 'plus', 'yearly'], env),
  ]);
  t.match(reset, { code: 0, stderr: '' }, 'the running service executes the command');
  t.match(changed, {
    code: 0,
    stdout: /^ada@example\.com is now on the plus plan, billed yearly/,
    stderr: '',
  });
  t.match(await accountOf(running), { plan: 'plus', billingPeriod: 'yearly' });
  t.ok(await verifyPassword((await accountOf(running))?.passwordHash ?? null, passwordIn(reset.stdout)));
  t.strictSame(await listSessions(running.database.db, id), []);
  failed(
    t,
    await run('reset-password', ['unknown@example.com'], env),
    /^There is no account with the email address unknown@example\.com\.$/m,
  );
  await running.stop();

  const again = await run('reset-password', ['ada@example.com'], env);
  t.match(
    again,
    { code: 0, stderr: '' },
    'without a running service, the command opens the data folder itself',
  );
  t.notOk(
    readdirSync(env.DATA_DIR ?? '').some((name) => name.includes('.sock')),
    'the command leaves no socket behind',
  );
  const restarted = await startService(loadConfig(settings));
  t.ok(await verifyPassword((await accountOf(restarted))?.passwordHash ?? null, passwordIn(again.stdout)));
  await restarted.stop();
});

t.test('failures print one line and exit with 1, or with 2 for wrong usage', async (t) => {
  const [usage, config, empty, away] = await Promise.all([
    run('set-plan', ['ada@example.com'], {}),
    run('reset-password', ['ada@example.com'], { PORT: 'x' }),
    run('reset-password', ['ada@example.com'], { DATA_DIR: t.testdir() }),
    run('reset-password', ['ada@example.com'], {
      DATABASE_URL: 'postgres://parley:secret@127.0.0.1:9/parley',
    }),
  ]);
  failed(t, usage, /^This command takes EMAIL PLAN PERIOD\. Usage: npx parley accounts set-plan /m, 2);
  failed(t, config, /^PORT must be a whole number/);
  failed(t, empty, /^DATA_DIR .* has no database yet\. Start the service once/);
  failed(t, away, /^The command failed: the database cannot be reached \(ECONNREFUSED\)\.$/m);
  t.notMatch(away.stderr, 'secret', 'the output does not contain the password in DATABASE_URL');
});
