import t from 'tap';
import { MODEL, startUpstream } from '../../support/upstream/client.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());

const ask = (fields: Record<string, unknown>, headers: Record<string, string> = {}) =>
  fetch(`${upstream.url}/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'one two three' }], ...fields }),
  });

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the server says
const answer = async (fields: Record<string, unknown>): Promise<any> => (await ask(fields)).json();

/** The arrival times of the headers and of each piece of the body, in milliseconds from the request. */
async function times(
  fields: Record<string, unknown>,
): Promise<{ headers: number; pieces: number[]; text: string }> {
  const startedAt = performance.now();
  const response = await ask({ stream: true, ...fields });
  const headers = performance.now() - startedAt;
  const pieces: number[] = [];
  let text = '';
  for await (const piece of response.body ?? []) {
    pieces.push(performance.now() - startedAt);
    text += Buffer.from(piece).toString();
  }
  return { headers, pieces, text };
}

t.test('settings in `user` or after the model name pace the response', async (t) => {
  const settings = 'headersDelayMs=60,firstChunkDelayMs=60,chunks=5,tokensPerSecond=25';
  for (const fields of [{ user: settings }, { model: `${MODEL}@${settings}` }]) {
    const { headers, pieces, text } = await times(fields);
    t.ok(headers >= 60, `headers after ${headers} ms`);
    t.ok((pieces[0] ?? 0) >= 120, `first chunk after ${pieces[0]} ms`);
    t.ok((pieces.at(-1) ?? 0) >= 120 + 5 * 40 - 5, `last chunk after ${pieces.at(-1)} ms`);
    t.equal(text.match(/"content":" \d/g)?.length, 5);
  }
});

t.test('a `user` without known settings has no effect', async (t) => {
  t.equal((await answer({ user: 'customer=7' })).choices[0].message.content, 'You said: one two three');
});

t.test('with stamp=true, chunks have the time at which they were sent', async (t) => {
  const { text } = await times({ user: 'stamp=true' });
  const [sentAt] = text.match(/(?<="sent_at":)[\d.]+/) ?? [];
  t.ok(Math.abs(Number(sentAt) - Date.now()) < 5000);
});

t.test('max_tokens ends a reply with finish_reason length', async (t) => {
  const { choices, usage } = await answer({ max_tokens: 2 });
  t.match(choices[0], { message: { content: 'You said:' }, finish_reason: 'length' });
  t.equal(usage.completion_tokens, 2);
});

t.test('an API key can be required', async (t) => {
  await upstream.configure({ apiKey: 'secret' });
  t.equal((await ask({})).status, 401);
  t.equal((await ask({}, { authorization: 'Bearer secret' })).status, 200);
});

t.test('faultTimes limits a fault to the first calls', async (t) => {
  await upstream.configure({ fault: 'status', status: 503, faultTimes: 2 });
  const statuses = [];
  for (let call = 0; call < 4; call += 1) statuses.push((await ask({})).status);
  t.same(statuses, [503, 503, 200, 200]);
});

t.test('the upstream counts calls and bytes, and records the last calls', async (t) => {
  const { text } = await times({ user: 'chunks=7' });
  const { bytes, calls, chat, chunks, last, open } = await upstream.calls();
  t.match({ calls, chat, chunks, open }, { calls: 1, chat: 1, chunks: 7, open: 0 });
  t.equal(bytes, Buffer.byteLength(text));
  t.match(last[0], {
    method: 'POST',
    path: '/v1/chat/completions',
    abortedAt: null,
    chunks: 7,
    body: { user: 'chunks=7' },
  });
});

t.test('an unknown path is 404', async (t) => {
  t.equal((await fetch(`${upstream.url}/audio`, { method: 'POST', body: '{}' })).status, 404);
  t.equal((await fetch(`${upstream.searchUrl}?q=x`)).status, 404, 'a search without format=json is 404');
});
