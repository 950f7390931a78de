import t from 'tap';
import { createUpstreamSearch } from '../../../src/engines/upstream/search.ts';
import { startUpstream } from '../../support/upstream/client.ts';
import { failure, fits, never } from '../../support/upstream/engine.ts';

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.beforeEach(() => upstream.reset());
const engine = createUpstreamSearch({ url: upstream.searchUrl });
const search = async (query: string, limit = 10) => {
  const results = await engine.search(query, limit, never());
  fits('SearchResponse', { query, results });
  return results;
};
const found = async (rows: unknown[], limit = 10) => {
  await upstream.configure({ search: { results: rows } });
  return search('x', limit);
};

t.test('results are plain text, sorted by score', async (t) => {
  const results = await search('red fox');
  t.same(results[0], {
    title: 'Result 1 for red fox',
    url: 'https://example.com/1?q=red%20fox',
    snippet: 'What page 1 says of red fox & more.',
    score: 3,
  });
  t.same(
    results.map(({ score }) => score),
    [3, 2, 1],
  );
  t.equal((await search('red fox', 2)).length, 2);
});

t.test(
  'SEARCH_URL accepts the host or the search page, with an optional slash, path, or query',
  async (t) => {
    const host = upstream.searchUrl.replace('/search', '');
    const cases = {
      [host]: '/search?',
      [`${host}/`]: '/search?',
      [`${host}/search`]: '/search?',
      [`${host}/search/`]: '/search?',
      [`${host}/a/b/`]: '/a/b/search?',
      [`${host}/search?language=en`]: '/search?language=en&',
    };
    for (const [url, path] of Object.entries(cases)) {
      await upstream.reset();
      await createUpstreamSearch({ url }).search('a b', 3, never());
      t.equal((await upstream.onlyCall()).path, `${path}q=a+b&format=json`, url);
    }
  },
);

t.test('every character is literal, because SearXNG commands are quoted', async (t) => {
  const cases = {
    '!images cat': '"!images" cat',
    'wq :de !!g': 'wq ":de" "!!g"',
    '<3 music': '"<3" music',
    'what? a!b c:d "!x"': 'what? a!b c:d "!x"',
    'a & b=c #d': 'a & b=c #d',
  };
  for (const [query, sent] of Object.entries(cases)) {
    await upstream.reset();
    await search(query);
    t.equal(new URL((await upstream.onlyCall()).path, 'http://x').searchParams.get('q'), sent, query);
  }
});

t.test('links that are not http or https are dropped', async (t) => {
  const urls = [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://example.com/',
    'magnet:?xt=1',
    '//example.com',
    'not a url',
    '',
    null,
    7,
    `https://example.com/${'x'.repeat(4000)}`,
  ];
  t.same(await found([...urls.map((url) => ({ url, title: 'x', content: 'x' })), {}, null, 'text']), []);
  const [odd] = await found([{ url: 'HTTPS://Exämple.com/ä b|c?d=é"^', title: 'x' }]);
  t.equal(odd?.url, 'https://xn--exmple-cua.com/%C3%A4%20b%7Cc?d=%C3%A9%22%5E');
});

t.test(
  'tags are removed, entities are decoded, similar text is kept, and long texts are truncated',
  async (t) => {
    const [result] = await found([
      {
        url: 'https://e.com',
        title: '<b>A</b> &lt;i&gt; &amp;amp; 1 < 2 > 0',
        content: `${'<em class="x">y</em> '.repeat(20)}${'é'.repeat(9000)}`,
      },
    ]);
    t.equal(result?.title, 'A <i> &amp; 1 < 2 > 0');
    t.match(result?.snippet, /^y y y/);
    t.equal(result?.snippet.length, 4000);
    const [nameless] = await found([{ url: 'https://e.com/page', title: '<b></b>', content: null }]);
    t.match(nameless, { title: 'https://e.com/page', snippet: '' });
    const [surrogates] = await found([{ url: 'https://e.com', title: '🦊'.repeat(600), content: '' }]);
    t.match(surrogates?.title, /🦊…$/u, 'no surrogate pair is split');
  },
);

t.test('results are sorted by score, or keep their order if a score is missing', async (t) => {
  const rows = (scores: unknown[]) =>
    scores.map((score, place) => ({ url: `https://e.com/${place}`, title: 'x', content: '', score }));
  t.same(
    (await found(rows([1, undefined, 5]))).map(({ score, url }) => [url, score]),
    [
      ['https://e.com/0', 1],
      ['https://e.com/1', 0.5],
      ['https://e.com/2', 1 / 3],
    ],
  );
  t.same(
    (await found(rows([1, 1e12, 5]))).map(({ score }) => score),
    [1_000_000_000, 5, 1],
  );
  t.same(
    (await found(rows([-1, 2]))).map(({ score }) => score),
    [1, 0.5],
    'a negative score counts as missing',
  );
});

t.test('the limit counts only valid results', async (t) => {
  const rows = [
    { url: 'javascript:x', title: 'x' },
    ...[1, 2, 3].map((place) => ({ url: `https://e.com/${place}`, title: 'x' })),
  ];
  t.equal((await found(rows, 3)).length, 3);
});

t.test(
  'failures have the same codes as for other upstreams, and a response without results is a failure',
  async (t) => {
    await upstream.configure({ fault: 'status', status: 403 });
    t.equal((await failure(search('x'))).code, 'upstreamError');
    await upstream.configure({ fault: 'redirect' });
    t.equal((await failure(search('x'))).code, 'upstreamError');
    await upstream.configure({ search: { answers: [] } });
    t.equal((await failure(search('x'))).code, 'upstreamError');
    await upstream.configure({ fault: 'hang' });
    t.equal(
      (
        await failure(
          createUpstreamSearch({ url: upstream.searchUrl, firstByteTimeoutMs: 100 }).search('x', 1, never()),
        )
      ).code,
      'upstreamTimeout',
    );
  },
);
