import t from 'tap';
import { startUpstream } from '../../support/upstream/client.ts';
import { asking, chatEngine, failure, KEY, never } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
const chat = chatEngine(upstream.url);
const refused = async (settings: Parameters<typeof upstream.configure>[0], fields = {}) => {
  await upstream.configure({ fault: 'status', ...settings });
  return failure(chat.complete(asking('Hello', fields), never()));
};

t.test("400, 413, and 422 are invalidRequest with Parley's own message", async (t) => {
  for (const status of [400, 413, 422]) {
    const error = await refused({ status, message: 'Bad, bad.' });
    t.equal(error.code, 'invalidRequest', `${status}`);
    t.equal(error.statusCode, 400);
    t.match(error.message, /^The request (was rejected|is too large)/);
  }
});

t.test('a known reason is passed on with a message', async (t) => {
  for (const code of [
    'context_length_exceeded',
    'invalid_image_format',
    'string_above_max_length',
    'content_policy_violation',
    'unsupported_parameter',
  ]) {
    const error = await refused({ status: 400, code });
    t.equal(error.options.reason, code);
    t.not(error.message, 'The request was rejected. Check its content and parameters.', code);
  }
});

t.test('an unknown reason is not passed on', async (t) => {
  for (const code of ['secret_reason', 'constructor', '__proto__']) {
    const error = await refused({ status: 400, code });
    t.equal(error.code, 'invalidRequest');
    t.equal(error.options.reason, undefined);
  }
});

t.test('a message without a code is recognized as context_length_exceeded', async (t) => {
  const sentences = [
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
    'the request exceeds the available context size, try increasing it',
    'prompt is too long: 210000 tokens > 200000 maximum',
  ];
  for (const message of sentences) {
    const error = await refused({ status: 400, message });
    t.equal(error.options.reason, 'context_length_exceeded', message);
    t.match(error.message, /too long for the model/);
  }
});

t.test('an excessive output limit is distinguished from a conversation that is too long', async (t) => {
  const both = [
    'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    "'max_tokens' or 'max_completion_tokens' is too large: 10000. This model's maximum context length is 4096 tokens and your request has 20 input tokens (10000 > 4096 - 20).",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (1000 in the messages, 4000 in the completion).",
  ];
  for (const message of both) {
    const error = await refused({ status: 400, message, param: 'max_tokens' }, { max_tokens: 10_000 });
    t.equal(error.options.reason, 'context_length_exceeded', message);
    t.match(error.message, /or allow fewer output tokens\.$/);
  }
  const message =
    'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5';
  const error = await refused({ status: 400, message });
  t.equal(error.options.reason, 'integer_above_max_value');
  t.equal(error.message, 'The request allows more output tokens than the model can generate. Allow fewer.');
});

t.test('param names the invalid field only if the client sent it', async (t) => {
  const named = await refused(
    { status: 400, code: 'unsupported_value', param: 'temperature' },
    { temperature: 1.5 },
  );
  t.equal(named.options.param, 'temperature');
  t.match(named.message, /`temperature`/);
  const nested = await refused({ status: 400, param: 'messages[0].content' });
  t.equal(nested.options.param, 'messages');
  const foreign = await refused({ status: 400, param: 'CANARY-words-of-the-upstream' });
  t.equal(foreign.options.param, undefined);
});

t.test("401 and 403 are upstreamError because the key is Parley's, not the client's", async (t) => {
  for (const status of [401, 403]) {
    const error = await refused({
      status,
      code: 'invalid_api_key',
      message: `Incorrect API key provided: ${KEY}. Also sk-upst*****6789.`,
    });
    t.equal(error.code, 'upstreamError', `${status}`);
    t.match(
      (error.options.cause as Error).message,
      new RegExp(`returned ${status}.*invalid_api_key`),
      'the log has the status and the code',
    );
    t.notMatch((error.options.cause as Error).message, /sk-upst/, 'the log has no masked key');
  }
});

t.test('404 for a model is notFound, and any other 404 is upstreamError', async (t) => {
  const coded = await refused({ status: 404, code: 'model_not_found' });
  t.equal(coded.code, 'notFound');
  t.equal(coded.options.param, 'model');
  const worded = await refused({ status: 404, message: 'model "llama9" not found, try pulling it first' });
  t.equal(worded.code, 'notFound');
  const other = await refused({ status: 404, message: 'Not Found' });
  t.equal(other.code, 'upstreamError');
});

t.test("429 is overloaded, with the upstream's Retry-After clamped from 1 to 60", async (t) => {
  const cases = {
    '7': '7',
    '0': '1',
    '1.2': '2',
    '3600': '60',
    '': '1',
    soon: '1',
    '-5': '1',
    'Wed, 21 Oct 2026 07:28:00 GMT': '1',
  };
  for (const [given, told] of Object.entries(cases)) {
    const error = await refused({ status: 429, retryAfter: given });
    t.equal(error.code, 'overloaded');
    t.same(error.headers, { 'retry-after': told }, `"${given}"`);
  }
});

t.test('every other status is upstreamError', async (t) => {
  for (const status of [402, 405, 408, 409, 418, 451, 500, 502, 503, 504]) {
    const error = await refused({ status });
    t.equal(error.code, 'upstreamError', `${status}`);
    t.equal(
      error.message,
      'The server behind this endpoint failed or could not be reached. Nothing was charged. Try again later.',
    );
  }
});

t.test('a rejected stream gets the same error', async (t) => {
  await upstream.configure({ fault: 'status', status: 429, retryAfter: '9' });
  const error = await failure(chat.stream(asking('Hello'), never())[Symbol.asyncIterator]().next());
  t.equal(error.code, 'overloaded');
  t.same(error.headers, { 'retry-after': '9' });
});

t.test('an invalid response is upstreamError, and the log describes it', async (t) => {
  const logged = {
    'bad-json': /not a JSON object: \d+ characters\.$/,
    'content-type': /Expected .* from the upstream, got text\/html/,
    'error-body': /an error|ended the stream early/,
    redirect: /redirected to http:/,
  };
  for (const fault of ['bad-json', 'content-type', 'error-body', 'redirect'] as const) {
    await upstream.configure({ fault });
    const whole = await failure(chat.complete(asking('Hello'), never()));
    t.equal(whole.code, 'upstreamError', fault);
    t.match((whole.options.cause as Error).message, logged[fault]);
    const streamed = await failure(chat.stream(asking('Hello'), never())[Symbol.asyncIterator]().next());
    t.equal(streamed.code, 'upstreamError', `${fault}, streamed`);
    if (fault !== 'bad-json') t.match((streamed.options.cause as Error).message, logged[fault]);
  }
  for (const completion of [
    [],
    {},
    'text',
    { choices: [] },
    { choices: [{}] },
    { choices: [null] },
    { choices: {} },
  ]) {
    await upstream.configure({ completion });
    t.equal(
      (await failure(chat.complete(asking('Hello'), never()))).code,
      'upstreamError',
      JSON.stringify(completion),
    );
  }
});

t.test('a redirect is not followed', async (t) => {
  await upstream.reset();
  await upstream.configure({ fault: 'redirect' });
  const error = await failure(chat.complete(asking('Hello'), never()));
  t.equal((await upstream.calls()).calls, 1);
  t.match((error.options.cause as Error).message, /redirects are not followed/);
});
