// The daily token limit, as seen by clients, upstreams, and operators. Contract section 15.
import t, { type Test } from 'tap';
import { audit } from '../../src/store/ledger-audit.ts';
import { holdNextReply } from '../support/held-reply.ts';
import type { Owner } from '../support/http.ts';
import { onEachDatabase, plansFile, type TestService } from '../support/service.ts';
import { chatSurface, surfaces } from '../support/surfaces.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';
import { anyTarget, arrives, deliveriesOf, setWebhook, startReceiver } from '../support/webhook-receiver.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const LIMIT = 20_000;
const env = {
  ...anyTarget,
  ...plansFile(t, { tokens: LIMIT }),
  CHAT_URL: upstream.url,
  EMBEDDINGS_URL: upstream.url,
  DEFAULT_MAX_OUTPUT_TOKENS: '1000',
};

const messages = [{ role: 'user', content: 'Hello' }];
const chat = { message: 'Hello', store: false };

/** The limits in the only chat request that reached the upstream. Requests for its models may arrive at any time. */
async function sentLimits() {
  const { last } = await upstream.calls();
  const asked = last.filter(({ path }) => path.endsWith('/chat/completions'));
  if (asked.length !== 1) throw new Error(`Expected one call, not ${asked.length}.`);
  const body = asked[0]?.body;
  const { max_completion_tokens, max_tokens, n } = body as Record<string, number | undefined>;
  await upstream.reset();
  return { max_completion_tokens, max_tokens, n };
}

/** A reply for which the upstream reports the given number of tokens. */
const reporting = (tokens: number) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: MODEL,
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: tokens, total_tokens: 10 + tokens },
});

async function isClean({ database }: TestService, t: Test) {
  t.strictSame((await audit(database.db)).differences, [], 'the audit finds no differences');
}

onEachDatabase(t, env, async (t, service) => {
  const { client } = service;
  const usage = async ({ cookie }: Owner) => (await client.get('/usage', { cookie })).body;

  await t.test('every API sends the upstream the reserved reply length as a limit', async (t) => {
    const owner = await client.signUp();
    const { key } = await client.createKey(owner);
    await upstream.reset();
    for (const stream of [false, true]) {
      t.equal((await client.post('/chat', { ...chat, stream }, { key })).status, 200);
      t.same(await sentLimits(), { max_completion_tokens: undefined, max_tokens: 1000, n: undefined });
    }
    await client.post('/chat', { ...chat, max_output_tokens: 50 }, { key });
    t.match(await sentLimits(), { max_completion_tokens: undefined, max_tokens: 50 });
    await client.post('/chat/completions', { model: MODEL, messages, max_completion_tokens: 60 }, { key });
    t.match(await sentLimits(), { max_completion_tokens: undefined, max_tokens: 60 });
    await client.post('/chat/completions', { model: MODEL, messages, max_tokens: 70, n: 3 }, { key });
    t.match(await sentLimits(), { max_tokens: 70, n: 3 });
    await client.post('/chat/completions', { model: MODEL, messages }, { key });
    t.match(await sentLimits(), { max_tokens: 1000 });
    await client.post('/responses', { model: MODEL, input: 'Hello', store: false }, { key });
    t.match(await sentLimits(), { max_tokens: 1000 });
    await client.post('/messages', { model: MODEL, messages, max_tokens: 90 }, { key });
    t.match(await sentLimits(), { max_completion_tokens: undefined, max_tokens: 90 });
    const { limits, reserved_tokens, used } = await usage(owner);
    t.match({ limits, reserved_tokens }, { limits: { tokens: LIMIT }, reserved_tokens: 0 });
    t.ok(used.tokens > 0 && used.tokens < 1000, 'reported tokens count, not reserved ones');
    await isClean(service, t);
  });

  await t.test('a plan without a token limit sends no limit to the upstream and reports none', async (t) => {
    const owner = await client.signUp();
    await client.request('PUT', '/subscription', {
      ...owner,
      body: { plan: 'large', billing_period: 'monthly' },
    });
    await upstream.reset();
    const { headers } = await client.post('/chat', chat, owner);
    t.same(await sentLimits(), { max_completion_tokens: undefined, max_tokens: undefined, n: undefined });
    t.notMatch(headers.get('ratelimit-policy'), /tokens/);
    const { limits, reserved_tokens } = await usage(owner);
    t.same([limits.tokens, reserved_tokens], [undefined, undefined]);
  });

  await t.test('models that accept only max_completion_tokens receive it', async (t) => {
    const owner = await client.signUp();
    await upstream.reset();
    await upstream.configure({ refuses: ['max_tokens'] });
    for (const expected of [2, 1]) {
      const before = (await upstream.calls()).chat;
      t.equal((await client.post('/chat', chat, owner)).status, 200);
      const { chat: after, last } = await upstream.calls();
      t.equal(after - before, expected, 'the first request discovers the accepted name');
      const sent = last.findLast(({ path }) => path.endsWith('/chat/completions'));
      t.match(sent?.body, { max_completion_tokens: 1000 });
    }
    await upstream.reset();
  });

  await t.test(
    '429 quotaExceeded: the error has the remaining tokens, the needed tokens, and advice',
    async (t) => {
      const owner = await client.signUp();
      await upstream.configure({ completion: reporting(900) });
      const served = await client.post('/chat', chat, owner);
      await upstream.reset();
      const policy = /"requests";q=\d+;w=60, "tokens";q=20000;w=86400/;
      t.match(served.headers.get('ratelimit-policy'), policy);
      const { used } = await usage(owner);
      const { chat: before } = await upstream.calls();

      const { body, headers, status } = await client.post(
        '/chat',
        { ...chat, max_output_tokens: LIMIT - used.tokens },
        owner,
      );
      t.equal(status, 429);
      const { limit, message } = body.error;
      t.match(limit, { name: 'tokens', ceiling: LIMIT, remaining: LIMIT - used.tokens });
      t.ok(limit.needed > limit.remaining);
      t.match(message, /can use up to [\d,]+ tokens.*Allow fewer output tokens, or shorten the input/);
      t.ok(Number(headers.get('retry-after')) > 0);
      t.equal(headers.get('ratelimit-limit'), String(LIMIT));
      t.equal(headers.get('x-should-retry'), 'false');

      const tooLarge = await client.post(
        '/chat/completions',
        { model: MODEL, messages, max_tokens: 5000, n: 8 },
        owner,
      );
      t.match(tooLarge.body.error, { code: 'quotaExceeded', limit: { name: 'tokens' } });
      t.ok(tooLarge.body.error.limit.needed > 40_000, 'each choice counts');
      t.equal(tooLarge.headers.get('retry-after'), null, 'waiting would not help');
      t.equal((await upstream.calls()).chat, before, 'no request reached the upstream');
      t.equal((await usage(owner)).used.tokens, used.tokens);
      await isClean(service, t);
    },
  );

  await t.test('tokens reported beyond the reservation are charged and visible in a metric', async (t) => {
    const owner = await client.signUp();
    await upstream.configure({ completion: reporting(19_000) });
    const metric = async () => {
      const { text } = await client.get('//metrics');
      return Number(/^parley_excess_tokens_total (\d+)/m.exec(text)?.[1] ?? 0);
    };
    const before = await metric();
    t.equal((await client.post('/chat', chat, owner)).status, 200);
    await upstream.reset();
    t.equal((await usage(owner)).used.tokens, 19_010);
    t.ok((await metric()) - before > 17_000);
    t.equal((await client.post('/chat', chat, owner)).body.error.limit.name, 'tokens');
    await isClean(service, t);
  });

  await t.test('webhooks report when 80% and 100% of the token limit are used', async (t) => {
    const owner = await client.signUp();
    const receiver = await startReceiver(t);
    await setWebhook(client, owner.cookie, receiver.url);
    for (const [turn, [threshold, tokens]] of (
      [
        [80, 16_000],
        [100, 4000],
      ] as const
    ).entries()) {
      await upstream.configure({ completion: reporting(tokens) });
      t.equal((await client.post('/chat', chat, owner)).status, 200);
      const { body } = await arrives(receiver, 'usage.threshold_reached', turn + 1);
      const { tokens: used } = (await usage(owner)).used;
      t.match(body.data, { meter: 'tokens', threshold, used, limit: LIMIT });
    }
    await upstream.reset();
  });

  await t.test('webhooks do not report tokens that are only reserved', async (t) => {
    const owner = await client.signUp();
    const receiver = await startReceiver(t);
    await setWebhook(client, owner.cookie, receiver.url);
    const held = holdNextReply(t, service.app.engines.chat);
    const first = client.post('/chat', { ...chat, max_output_tokens: 17_000 }, owner);
    await held.called;
    // Once this message arrives, a check has run during the reservation.
    const other = await client.signUp();
    const later = await startReceiver(t);
    await setWebhook(client, other.cookie, later.url);
    await upstream.configure({ completion: reporting(16_000) });
    t.equal((await client.post('/chat', chat, other)).status, 200);
    await arrives(later, 'usage.threshold_reached');
    await upstream.reset();
    t.ok((await usage(owner)).reserved_tokens > 0.8 * LIMIT);
    t.same(await deliveriesOf(client, owner.cookie), []);
    held.release();
    t.equal((await first).status, 200);
  });

  for (const { body, limit, path } of [chatSurface, ...surfaces])
    for (const stream of [false, true])
      await t.test(
        `${path}, stream: ${stream}: tokens are released after a failure, charged once, and limited`,
        async (t) => {
          const owner = await client.signUp();
          const asked = body('Hello', { stream });
          await upstream.configure({ fault: 'status', status: 500 });
          t.equal((await client.post(path, asked, owner)).status, 502);
          await upstream.reset();
          t.match(
            await usage(owner),
            { used: { tokens: 0 }, reserved_tokens: 0 },
            'a failure releases all tokens',
          );

          const headers = { 'idempotency-key': 'one' };
          const first = await client.post(path, asked, { ...owner, headers });
          t.equal(first.status, 200);
          const { reserved_tokens, used } = await usage(owner);
          t.ok(used.tokens > 0 && used.tokens < 100, `${used.tokens} tokens`);
          t.equal(reserved_tokens, 0);
          const again = await client.post(path, asked, { ...owner, headers });
          t.equal(again.headers.get('idempotency-replayed'), 'true');
          if (!stream) t.equal(again.text, first.text);
          t.match(
            await usage(owner),
            { used: { tokens: used.tokens }, reserved_tokens: 0 },
            'a replay uses no tokens',
          );

          const { body: refused, status } = await client.post(path, { ...asked, [limit]: LIMIT }, owner);
          t.equal(status, 429);
          t.match(refused.error, {
            code: 'quotaExceeded',
            limit: { name: 'tokens', remaining: LIMIT - used.tokens },
          });
          t.ok(refused.error.limit.needed > LIMIT);
          t.equal((await upstream.calls()).chat, 1);
          await isClean(service, t);
        },
      );

  await t.test('embeddings reserve their bytes and are charged the reported tokens', async (t) => {
    const owner = await client.signUp();
    const embed = (input: unknown) => client.post('/embeddings', { model: MODEL, input }, owner);
    t.equal((await embed(['Hello', 'World'])).status, 200);
    t.equal((await usage(owner)).used.tokens, 6);
    t.match((await embed('a'.repeat(LIMIT))).body.error, { limit: { name: 'tokens' } });
    await isClean(service, t);
  });

  await t.test("a new account with a deleted account's email address inherits its token usage", async (t) => {
    const first = await client.signUp();
    await client.post('/chat', chat, first);
    const { used } = await usage(first);
    t.ok(used.tokens > 0);
    await client.delete('/account', { cookie: first.cookie, body: { current_password: first.password } });
    const second = await client.signUp(first.email);
    t.equal((await usage(second)).used.tokens, used.tokens);
    await isClean(service, t);
  });
});
