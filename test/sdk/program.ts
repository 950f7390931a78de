// A typical program that uses the SDK. package.long.test.ts compiles it in strict mode against the packed package, runs it,
// and reads the line of JSON that it prints.
import {
  type ChatEvent,
  createParley,
  newIdempotencyKey,
  type Parley,
  ParleyError,
  type Schemas,
} from 'parley-sdk';

const [baseUrl = '', cookie = ''] = process.argv.slice(2);

const owner: Parley = createParley({ baseUrl, headers: { cookie } });
const created: Schemas['CreatedApiKey'] = await owner.createKey({
  name: 'Program',
  scopes: ['chat', 'usage'],
  allowed_origins: [],
});
const parley = createParley({ baseUrl, apiKey: created.key });

const plain = await parley.chat({ message: 'How do I create a key?' });

let streamed = '';
const seen: ChatEvent['event'][] = [];
for await (const event of parley.streamChat({ message: 'How do I create a key?' })) {
  if (seen.at(-1) !== event.event) seen.push(event.event);
  if (event.event === 'delta') streamed += event.data.text;
}

const controller = new AbortController();
let aborted: string | undefined;
try {
  for await (const event of parley.streamChat({ message: 'What is a scope?' }, { signal: controller.signal }))
    if (event.event === 'start') controller.abort();
} catch (error) {
  aborted = error instanceof Error ? error.name : String(error);
}

const idempotencyKey = newIdempotencyKey();
const first = await parley.chat({ message: 'What is the quota?' }, { idempotencyKey });
const second = await parley.chat({ message: 'What is the quota?' }, { idempotencyKey });

const usage = await parley.getUsage();
const chatLimit: number | null = usage.limits.chat;

let refused: object | undefined;
try {
  await parley.chat({ message: 'One more' });
} catch (error) {
  if (!(error instanceof ParleyError)) throw error;
  switch (error.code) {
    case 'quotaExceeded':
    case 'rateLimitExceeded': {
      const { code, limit, requestId, retryAfter, status } = error;
      refused = { code, limit, requestId, retryAfter, status };
      break;
    }
    default:
      throw error;
  }
}

// @ts-expect-error an unknown scope
void (() => owner.createKey({ name: 'Program', scopes: ['everything'] }));
// @ts-expect-error a message is required
void (() => parley.chat({}));
// @ts-expect-error streams have a separate method
void (() => parley.chat({ message: 'Hello', stream: true }));
// @ts-expect-error this operation is free, so it takes no idempotency key
void (() => parley.getUsage({}, { idempotencyKey }));
// @ts-expect-error an unknown field
void (() => plain.answer);

console.log(
  JSON.stringify({
    plain,
    streamed,
    seen,
    aborted,
    first: first.id,
    second: second.id,
    usage,
    chatLimit,
    refused,
  }),
);
