/** The rows that `make bench` and `make bench-all` measure. `ONLY=name,…` selects rows. */

/** The number of frames with text in a stream. */
export const FRAMES = 64;
/** A model whose responses the upstream delays by 60 ms. */
export const DELAYED = 'delay-60';

export type Row = {
  name: string;
  title: string;
  /** The goal for Parley on Postgres, as in `bench/RESULTS.md`. */
  aim?: string;
  /** The path after the API's base. */
  path: string;
  /** Request bodies, sent in turn. A row without bodies is a GET. */
  bodies?: string[];
  /** The peer that is the baseline of this row: it does the least work possible. */
  limit: 'route' | 'proxy';
  /** The meter that every request of this row is charged to. */
  meter?: 'chat' | 'search';
  /** The last bytes of a complete response. */
  ending?: string;
  /** Only `make bench-all` measures this row. */
  isExtra?: true;
  /** `make bench-all` finds the throughput of its targets at a given p99. */
  hasCapacity?: true;
};

const questions = [
  'How do I create a key?',
  'What happens at midnight UTC when the quota is spent?',
  'Why do I get a 401 with a new key?',
  'Can a browser call the API from another origin?',
  'How do I stream a reply?',
  'Which error means that the daily limit is reached?',
  'How do I revoke a key that leaked?',
  'Does a failed request count toward the quota?',
];

const sentence = 'The handler reads `config.json`, then calls \\"load(path)\\" for every entry.\\n';

/** A conversation of about `bytes` of JSON, in messages of 2 KB, like those of coding agents. */
function conversation(bytes: number, fields: object = {}): string {
  const start = JSON.stringify({ model: 'bench', ...fields, messages: [] }).slice(0, -2);
  const messages: string[] = [];
  for (let left = bytes - start.length - 2; left > 0 || messages.length % 2 === 0; ) {
    const role = messages.length % 2 === 0 ? 'user' : 'assistant';
    const frame = `{"role":"${role}","content":""}`;
    const sentences = Math.max(1, Math.floor((Math.min(left, 2048) - frame.length) / sentence.length));
    const message = `{"role":"${role}","content":"${sentence.repeat(sentences)}"}`;
    messages.push(message);
    left -= message.length + 1;
  }
  return `${start}${messages.join(',')}]}`;
}

/** The same conversation for OpenAI's Responses API. */
const responseOf = (body: string, isStored: boolean) =>
  body.replace('"messages":', `"store":${isStored},"input":`);

const completion = { path: '/chat/completions', meter: 'chat' } as const;

export const rows: Row[] = [
  {
    name: 'models',
    title: '`GET /models` with a key: the fixed cost',
    path: '/models',
    limit: 'route',
  },
  {
    name: 'usage',
    title: '`GET /usage` with a key',
    aim: 'CPU ≤ 3 × bare route',
    path: '/usage',
    limit: 'route',
    hasCapacity: true,
  },
  {
    ...completion,
    name: 'proxy-1k',
    title: 'completion through an upstream, 1 KB',
    aim: 'CPU ≤ 2.0 × bare proxy, throughput ≥ 60%',
    bodies: [conversation(1024)],
    limit: 'proxy',
    hasCapacity: true,
  },
  {
    ...completion,
    name: 'proxy-1k-60ms',
    title: 'completion through an upstream that responds after 60 ms, 1 KB',
    bodies: [conversation(1024, { model: DELAYED })],
    limit: 'proxy',
    isExtra: true,
  },
  {
    ...completion,
    name: 'proxy-40k',
    title: 'completion through an upstream, 40 KB',
    aim: 'CPU ≤ 1.5 × bare proxy',
    bodies: [conversation(40 * 1024)],
    limit: 'proxy',
  },
  {
    ...completion,
    name: 'proxy-1m',
    title: 'completion through an upstream, 1 MB',
    aim: 'CPU ≤ 1.5 × bare proxy',
    bodies: [conversation(1024 * 1024)],
    limit: 'proxy',
    isExtra: true,
  },
  {
    ...completion,
    name: 'stream-64',
    title: `stream of ${FRAMES} frames through an upstream, 1 KB`,
    aim: 'CPU ≤ 1.6 × bare proxy; first byte < 1 ms later',
    bodies: [conversation(1024, { stream: true })],
    limit: 'proxy',
    ending: 'data: [DONE]\n\n',
    hasCapacity: true,
  },
  {
    name: 'responses-1k',
    title: '`POST /responses` through an upstream, 1 KB',
    aim: 'CPU ≤ 1.3 × completion',
    path: '/responses',
    meter: 'chat',
    bodies: [responseOf(conversation(1024), false)],
    limit: 'proxy',
  },
  {
    name: 'responses-stored-1k',
    title: '`POST /responses` through an upstream, 1 KB, stored (the default)',
    path: '/responses',
    meter: 'chat',
    bodies: [responseOf(conversation(1024), true)],
    limit: 'proxy',
    isExtra: true,
  },
  {
    name: 'messages-1k',
    title: '`POST /messages` through an upstream, 1 KB',
    aim: 'CPU ≤ 1.3 × completion',
    path: '/messages',
    meter: 'chat',
    bodies: [conversation(1024, { max_tokens: 1000 })],
    limit: 'proxy',
  },
  {
    ...completion,
    name: 'builtin',
    title: 'completion by the built-in engine',
    aim: 'CPU ≤ 4 × bare route, throughput ≥ 45%',
    bodies: questions.map((content) => JSON.stringify({ messages: [{ role: 'user', content }] })),
    limit: 'route',
    hasCapacity: true,
  },
  {
    name: 'search',
    title: '`POST /search`, built-in',
    path: '/search',
    bodies: questions.map((query) => JSON.stringify({ query })),
    limit: 'route',
    meter: 'search',
  },
];
