// Reliability test 56: the cost of any search is bounded. It is measured in CPU time, which does not depend on load.
import t from 'tap';
import { askRaw } from '../support/raw-http.ts';
import { startTestService } from '../support/service.ts';

/** Contract section 6. An unbounded search takes three times as much. */
const MAX_MS = 50;
const TIMES = 12;

const letters = 'abcdefghijklmnopqrstuvwxyz';
const word = (n: number) => `${letters[n % 26]}${letters[(n * 7) % 26]}${letters[(n * 3) % 26]}`;
const list = (count: number, make: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => make(n)).join(' ');
const common =
  'key api request error limit account chat model token stream origin session password database service conversation header status quota plan search image browser server client message reply answer secret scope create delete'.split(
    ' ',
  );

/** The CPU milliseconds per request in this process, which is both client and service. */
async function cpuOfEach(
  ask: (n: number) => Promise<{ status: number }>,
): Promise<{ ms: number; statuses: Set<number> }> {
  await ask(-1);
  const before = process.cpuUsage();
  const statuses = new Set<number>();
  for (let n = 0; n < TIMES; n += 1) statuses.add((await ask(n)).status);
  const { system, user } = process.cpuUsage(before);
  return { ms: (system + user) / 1000 / TIMES, statuses };
}

t.test('56: GET /docs/search: a query uses less than 50 ms of CPU time', async (t) => {
  const { port } = await startTestService(t, 'postgres');
  const queries: Record<string, (n: number) => string> = {
    'one letter, 100 times': (n) => `${'s '.repeat(98)}${n}`,
    '100 letters': (n) => list(100, (at) => letters[(n + at) % 26] ?? ''),
    '50 prefixes': (n) => list(50, (at) => word(n * 50 + at)),
    'the most common prefixes': (n) => `${list(32, (at) => (common[at] ?? '').slice(0, 3))} ${n}`,
    'long words, misspelled': (n) => list(9, (at) => `configurationconvers${at}${n}`),
    'one long word': (n) => `${n}${'conversation'.repeat(16)}`,
    'only separators': (n) => `${'-.,;'.repeat(49)}${n}`,
  };
  for (const [title, query] of Object.entries(queries)) {
    const { ms, statuses } = await cpuOfEach((n) =>
      askRaw(port, `/docs/search?q=${encodeURIComponent(query(n).slice(0, 200)).replaceAll('%20', '+')}`),
    );
    t.same([...statuses], [200], title);
    t.ok(ms < MAX_MS, `${title}: ${ms.toFixed(1)} ms`);
  }
});

t.test(
  '56: GET /docs/search: up to 10 different words count, and a repeated query uses less than 50 ms of CPU time',
  async (t) => {
    const { client, port } = await startTestService(t, 'embedded');
    const found = async (query: string) => {
      const { text } = await client.get(`//docs/search?q=${encodeURIComponent(query)}`);
      return text.slice(text.indexOf('role="status"')).match(/<ol[\s\S]*<\/ol>/)?.[0] ?? '';
    };
    const ten = 'xaa xbb xcc xdd xee xff xgg xhh xii xjj';
    t.equal(await found(`${ten} rotate`), '', 'the eleventh word is not searched for');
    t.not(await found(`${ten.slice(4)} rotate`), '', 'the tenth word is searched for');
    t.not(await found(`${'xaa '.repeat(20)}rotate`), '', 'a repeated word counts once');
    t.equal(await found('ro'), '', 'two letters do not match as a prefix');
    t.not(await found('rot'), '', 'three letters match as a prefix');
    const query = encodeURIComponent(list(10, (n) => (common[n] ?? '').slice(0, 3)));
    const { ms } = await cpuOfEach(() => askRaw(port, `/docs/search?q=${query}`));
    t.ok(ms < MAX_MS, `the same query again: ${ms.toFixed(1)} ms`);
  },
);

const wordy: Record<string, (n: number) => string> = {
  'common words': (n) => `${common.join(' ')} ${n}`,
  'different words': (n) =>
    list(240, (at) => `${letters[at % 26]}${(n * 240 + at).toString(36)}`).slice(0, 1000),
  'one word': (n) => `${'a '.repeat(480)}${n}`,
};

t.test('56: POST /search and the built-in chat: a query uses less than 50 ms of CPU time', async (t) => {
  const { client } = await startTestService(t, 'postgres');
  const { cookie } = await client.signUp();
  await client.put('/subscription', { plan: 'pro', billing_period: 'monthly' }, { cookie });
  for (const [title, query] of Object.entries(wordy)) {
    const search = await cpuOfEach((n) => client.post('/search', { query: query(n), limit: 20 }, { cookie }));
    t.same([...search.statuses], [200], title);
    t.ok(search.ms < MAX_MS, `POST /search, ${title}: ${search.ms.toFixed(1)} ms`);
    const chat = await cpuOfEach((n) =>
      client.post('/chat', { message: query(n).repeat(90), store: false }, { cookie }),
    );
    t.same([...chat.statuses], [200], title);
    t.ok(chat.ms < MAX_MS, `POST /chat, ${title}: ${chat.ms.toFixed(1)} ms`);
  }
});

// The cost in the database cannot be measured in this process, but it depends on the number of words.
t.test('56: POST /search: up to 10 different words count', async (t) => {
  const { client } = await startTestService(t, 'embedded');
  const { cookie } = await client.signUp();
  const found = async (query: string) =>
    (await client.post('/search', { query }, { cookie })).body.results.length;
  const ten = 'xaa xbb xcc xdd xee xff xgg xhh xii xjj';
  t.equal(await found(`${ten} rotate`), 0, 'the eleventh word is not searched for');
  t.not(await found(`${ten.slice(4)} rotate`), 0, 'the tenth word is searched for');
  t.not(await found(`${'xaa '.repeat(20)}rotate`), 0, 'a repeated word counts once');
});
