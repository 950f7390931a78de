// Clients receive no more than they are charged for. Contract sections 5, 7, and 10, reliability tests 62, 64, and 65.
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { audit } from '../../src/store/ledger-audit.ts';
import type { ServerEvent } from '../support/event-reader.ts';
import type { Answer } from '../support/http.ts';
import { onEachDatabase, plansFile, type TestService } from '../support/service.ts';
import { lastCharge } from '../support/spending.ts';
import { chatSurface, surfaces } from '../support/surfaces.ts';
import { startUpstream } from '../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());

const messages = [{ role: 'user', content: 'Hi' }];
const retryKey = () => ({ 'idempotency-key': randomUUID() });
const isReplay = ({ headers }: Answer) => headers.get('idempotency-replayed') === 'true';
/** Each model returns too few choices only once: after that, the service rejects `n` for it. */
const models = Array.from({ length: 22 }, (_, n) => `model-${n}`);
const MANY = 'many-choices';
const unlimited = { chat: null, images: null, search: null };

async function signUp(service: TestService) {
  const owner = await service.client.signUp();
  const used = async () => (await service.client.get('/usage', owner)).body.used;
  return { owner, used };
}

/** Expects that 20 failures were refunded, and that the others remain charged and say so. */
function bounded(t: Test, answers: readonly Answer[], used: number, unitsEach: number, error: object) {
  const refunded = answers.filter(({ body }) => body.error.charged === undefined);
  const charged = answers.filter(({ body }) => body.error.charged === true);
  t.equal(refunded.length, 20);
  t.equal(charged.length, answers.length - 20);
  t.equal(used, charged.length * unitsEach);
  for (const answer of answers) t.match(answer.body, { error });
  for (const { body, headers, status } of charged) {
    t.match(body.error.message, /remains charged/);
    t.notMatch(body.error.message, /nothing was charged/i);
    if (status >= 500) t.equal(headers.get('x-should-retry'), 'false');
  }
  t.ok(refunded.every(({ body }) => !/remains charged/.test(body.error.message)));
}

t.test('an upstream with too few or too many choices', async (t) => {
  t.beforeEach(() => upstream.reset());
  const env = { CHAT_URL: upstream.url, CHAT_MODEL: [...models, MANY].join(','), IMAGES_URL: upstream.url };
  onEachDatabase(t, { ...env, ...plansFile(t, unlimited) }, async (t, service) => {
    const { client } = service;

    await t.test(
      '62: a stream with n: 2 that returns one choice is charged once, even if retried with its idempotency key',
      async (t) => {
        await upstream.configure({ choices: 1 });
        const { owner, used } = await signUp(service);
        const headers = retryKey();
        const body = { messages, model: 'model-0', n: 2, stream: true };
        const first = await client.post('/chat/completions', body, { ...owner, headers });
        const error = first.body.at(-1);
        t.match(error.data, {
          error: { code: 'invalidRequest', param: 'n', charged: true, message: /remains charged/ },
        });
        for (let retry = 0; retry < 5; retry += 1) {
          const again = await client.post('/chat/completions', body, { ...owner, headers });
          t.ok(isReplay(again));
          t.equal(again.body.length, 2);
          t.equal(again.body[0].data.choices[0].delta.content, 'You said: Hi');
          t.same(again.body[1], error);
        }
        t.equal((await upstream.calls()).chat, 1);
        t.equal((await used()).chat, 2);
        t.match(await lastCharge(service, owner.accountId), { state: 'final', units: 2, status: 400 });
        const anew = await client.post('/chat/completions', body, { ...owner, headers: retryKey() });
        t.match(anew, { status: 400, body: { error: { code: 'invalidRequest', param: 'n' } } });
        t.equal((await upstream.calls()).chat, 1, 'the upstream is not asked for two choices again');
        t.equal((await used()).chat, 2);
        t.equal((await client.post('/chat/completions', { ...body, n: 1 }, owner)).status, 200);
      },
    );

    await t.test('64: choices beyond n are dropped, streamed or not', async (t) => {
      await upstream.configure({ choices: 5 });
      const { owner, used } = await signUp(service);
      for (const n of [1, 2]) {
        const whole = await client.post('/chat/completions', { messages, model: MANY, n }, owner);
        t.equal(whole.body.choices.length, n);
        const headers = retryKey();
        const body = { messages, model: MANY, n, stream: true };
        for (const answer of [
          await client.post('/chat/completions', body, { ...owner, headers }),
          await client.post('/chat/completions', body, { ...owner, headers }),
        ]) {
          const events: ServerEvent[] = answer.body;
          t.equal(events.at(-1)?.data, '[DONE]');
          const told = events
            .slice(0, -1)
            .map(({ data }) => data.choices.map((choice: { index: number }) => choice.index));
          t.ok(
            told.every((indexes) => indexes.length > 0),
            'no chunk is empty',
          );
          t.same([...new Set(told.flat())].sort(), [0, 1].slice(0, n));
        }
      }
      const chat = await client.post('/chat', { message: 'Hi', stream: true }, owner);
      t.equal(chat.body.at(-1).data.reply, 'You said: Hi');
      t.equal((await used()).chat, 7);
    });

    await t.test('65: completions with too few choices are refunded at most 20 times per hour', async (t) => {
      await upstream.configure({ choices: 1 });
      const { owner, used } = await signUp(service);
      const answers: Answer[] = [];
      const ask = (model: string, headers = {}) =>
        client.post('/chat/completions', { messages, model, n: 3 }, { ...owner, headers });
      const [known, ...others] = models;
      const before = (await upstream.calls()).chat;
      const headers = retryKey();
      for (const model of others) answers.push(await ask(model, model === others.at(-1) ? headers : {}));
      t.ok(answers.every(({ status }) => status === 400));
      bounded(t, answers, (await used()).chat, 3, { code: 'invalidRequest', param: 'n' });
      t.match(await lastCharge(service, owner.accountId), {
        state: 'final',
        status: 400,
        code: 'invalidRequest',
      });
      const again = await ask(String(others.at(-1)), headers);
      t.ok(isReplay(again));
      t.equal(again.status, 400);
      t.same(again.body, answers.at(-1)?.body);
      t.equal((await ask(String(known))).status, 400, 'known from the previous test');
      t.equal((await upstream.calls()).chat, before + others.length);
      t.same((await audit(service.database.db)).differences, []);
    });

    await t.test(
      '65: too few images are refunded at most 20 times per hour, and the upstream is not asked again',
      async (t) => {
        await upstream.configure({ choices: 1 });
        const { owner, used } = await signUp(service);
        const answers: Answer[] = [];
        const draw = (model: string) =>
          client.post('/images/generations', { prompt: 'A fox', model, n: 2 }, owner);
        for (const model of models) answers.push(await draw(model));
        bounded(t, answers, (await used()).images, 2, { code: 'invalidRequest', param: 'n' });
        t.match(await draw(String(models[0])), { status: 400, body: { error: { param: 'n' } } });
        t.equal((await upstream.calls()).images, models.length);
      },
    );
  });
});

t.test('65: an unresponsive or failing upstream', async (t) => {
  t.beforeEach(() => upstream.reset());
  const env = {
    ...plansFile(t, unlimited),
    CHAT_URL: upstream.url,
    CHAT_MODEL: 'one,two',
    UPSTREAM_FIRST_BYTE_SECONDS: '1',
    UPSTREAM_IDLE_SECONDS: '1',
  };
  onEachDatabase(t, env, async (t, service) => {
    const { client } = service;
    const kinds = [chatSurface, ...surfaces].flatMap(({ body, path }) =>
      [false, true].map((stream) => ({ path, body: body('Hi', { stream }) })),
    );

    await t.test(
      'timeouts after the upstream has received the request are refunded at most 20 times per hour',
      async (t) => {
        await upstream.configure({ fault: 'hang' });
        const { owner, used } = await signUp(service);
        const calls = Array.from({ length: 3 }, () => kinds).flat();
        const answers = await Promise.all(
          calls.map(async ({ body, path }) => {
            const headers = retryKey();
            const answer = await client.post(path, body, { ...owner, headers });
            if (answer.body.error.charged !== true) return answer;
            const again = await client.post(path, body, { ...owner, headers });
            t.ok(isReplay(again));
            t.equal(again.status, 504);
            t.match(again.headers.get('content-type'), /^application\/json/);
            t.same(again.body, answer.body);
            return answer;
          }),
        );
        t.ok(answers.every(({ status }) => status === 504));
        bounded(t, answers, (await used()).chat, 1, { code: 'upstreamTimeout' });
        t.equal((await upstream.calls()).chat, calls.length);
        t.same((await audit(service.database.db)).differences, []);
      },
    );

    await t.test('failures that a client cannot cause are always refunded', async (t) => {
      const { owner, used } = await signUp(service);
      for (const fault of ['reset', 'status', 'bad-json'] as const) {
        await upstream.configure({ fault });
        for (const { body, path } of kinds) {
          const answer = await client.post(path, body, owner);
          t.match(answer, { status: 502, body: { error: { code: 'upstreamError' } } });
          t.equal(answer.body.error.charged, undefined);
        }
      }
      t.equal((await used()).chat, 0);
    });
  });
});
