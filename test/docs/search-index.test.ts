import t from 'tap';
import { type SectionEntry, sectionEntries } from '../../src/docs/search-entries.ts';
import { SearchIndex } from '../../src/docs/search-index.ts';
import { parseQuery } from '../../src/docs/search-terms.ts';
import { snippetOf } from '../../src/docs/snippet.ts';

const section = (heading: string, text: string) => ({
  heading,
  anchor: heading.toLowerCase().replaceAll(' ', '-'),
  markdown: text,
  text,
});

const guides = [
  {
    slug: 'keys',
    title: 'API keys',
    sections: [
      section('Create an API key', 'Sign in first. Send a name and a scope. The raw key is shown once.'),
      section('Revoke a key', 'It stops working at once. A revoked key leaves the list of keys.'),
      section(
        'List your keys',
        'The list holds the active keys. To create one, see the section above; a key is never shown again.',
      ),
    ],
  },
  {
    slug: 'accounts',
    title: 'Accounts',
    sections: [
      section('Sign in (log in)', 'Send the address and the password.'),
      section('Sign out (log out)', 'The session ends on the server.'),
      section(
        'Passwords',
        `${'Nothing of interest stands here. '.repeat(30)}Argon2id hashes them, with a salt. ${'Nor does it here. '.repeat(30)}`,
      ),
    ],
  },
];

const index = await SearchIndex.of(sectionEntries(guides));
const isSection = (entry: SectionEntry): entry is SectionEntry => entry.section !== undefined;
const search = (query: string, limit = 10) =>
  index.search(query, { limit, accepts: isSection }).hits.map(({ entry, found, score }) => ({
    heading: entry.title,
    score,
    snippet: snippetOf(entry, found),
  }));
const found = (query: string) => search(query).map(({ heading }) => heading);

t.test('a full question finds a section that lacks most of its words', async (t) => {
  t.equal(found('How would one go about it to create such a key in practice?')[0], 'Create an API key');
});

t.test('words in a heading rank higher than words in the text', async (t) => {
  t.strictSame(found('create').slice(0, 2), ['Create an API key', 'List your keys']);
});

t.test('a rare word ranks higher than a frequent one', async (t) => {
  t.equal(found('send salt')[0], 'Passwords');
});

t.test('inflected forms and synonyms of a word find it', async (t) => {
  for (const query of ['revoking', 'delete', 'removed', 'how do I cancel a key'])
    t.equal(found(query)[0], 'Revoke a key', query);
});

t.test('adjacent words distinguish sign in from sign out', async (t) => {
  for (const query of ['how do I log in', 'login', 'sign-in'])
    t.equal(found(query)[0], 'Sign in (log in)', query);
  for (const query of ['how do I log out', 'logout', 'sign out'])
    t.equal(found(query)[0], 'Sign out (log out)', query);
});

t.test('a query without meaningful words finds nothing', async (t) => {
  for (const query of [
    '',
    '   ',
    'how do I the',
    '%',
    '_',
    '&|!',
    ':*',
    "'",
    '"',
    '\\',
    '()',
    '<->',
    '💥',
    'zebra',
  ]) {
    t.same(found(query), [], JSON.stringify(query));
  }
});

t.test('query operators have no effect', async (t) => {
  const plain = search('create key');
  const queries = [
    'create & key',
    'create | key',
    'create & !key',
    'create:* key:A',
    "'create' 'key'",
    '"create" "key"',
    'create <-> key',
    '((create) key',
    'create\\ key\\',
    '%create% key_',
    'create~ ^key',
    'title:create AND NOT (key OR *)',
  ];
  for (const query of queries) {
    const expected = query.startsWith('title') ? search('title create key') : plain;
    t.same(search(query), expected, query);
  }
});

t.test('any text is a valid query', async (t) => {
  const texts = [
    'https://a.b/c?d=e&f',
    'a@b.c',
    "O'Neill",
    '\ud83d',
    `${'x'.repeat(999)}😀`,
    'a\tb\nc',
    '-1.5e10',
    '\u202e\u0007',
    'é ü 漢字',
  ];
  for (const text of texts) t.ok(Array.isArray(search(text, 10)), JSON.stringify(text).slice(0, 40));
});

t.test('a query of any length is cut to 10 distinct terms of at most 40 characters', async (t) => {
  const list = (make: (n: number) => string) => Array.from({ length: 200_000 }, (_, n) => make(n)).join(' ');
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const queries: Record<string, string> = {
    'distinct words': list((n) => `word${n}`),
    'three letters': list((n) => `${letters[n % 26]}${letters[(n * 7) % 26]}${letters[(n * 3) % 26]}`),
    'repeated words': list((n) => `key${n % 3}`),
    letters: list((n) => letters[n % 26] ?? ''),
    'names of many parts': 'aaBbCcDdEe'.repeat(20_000),
    'without spaces': '漢字'.repeat(100_000),
    'one word': 'x'.repeat(1_000_000),
    separators: '-.,;'.repeat(200_000),
    accents: '\u0301'.repeat(200_000),
  };
  for (const [name, query] of Object.entries(queries)) {
    const { pairs, terms } = parseQuery(query, () => false);
    t.ok(terms.length <= 10 && new Set(terms).size === terms.length, name);
    t.ok(terms.every((term) => term.length <= 40) && pairs.length <= 10, name);
    t.same(found(`${query} revoke`), found(query), `${name}: words past the limit are ignored`);
  }
  t.equal(found(`revoke ${queries['distinct words']}`)[0], 'Revoke a key');
});

t.test(
  'an unknown word of sufficient length matches despite a typo, and as a prefix if prefixes are enabled',
  async (t) => {
    t.equal(found('pasword')[0], 'Passwords');
    t.same(found('slalt'), [], 'fewer than 6 letters');
    t.same(found('rev'), []);
    const begun = (query: string) =>
      index.search(query, { limit: 1, accepts: isSection, beginnings: true }).hits[0]?.entry.title;
    t.equal(begun('rev'), 'Revoke a key');
    t.equal(begun('re'), undefined);
  },
);

t.test('a search returns at most `limit` hits, best first, with scores from 0 to 1', async (t) => {
  const hits = search('create revoke list key', 2);
  t.equal(hits.length, 2);
  const scores = search('create an API key', 10).map(({ score }) => score);
  t.same(
    scores,
    [...scores].sort((one, other) => other - one),
  );
  t.ok(
    scores.every((score) => score > 0 && score <= 1),
    String(scores),
  );
  t.ok((scores[0] ?? 0) > 0.9, 'a query equal to a heading scores close to 1');
});

t.test('a snippet is one line of plain text that contains the search terms', async (t) => {
  const [hit] = search('argon2id', 1);
  t.match(hit?.snippet, /^Argon2id hashes them, with a salt\. Nor does it here\./);
  t.ok((hit?.snippet.length ?? 0) <= 300);
  for (const { snippet } of search('key list sign', 10)) t.notMatch(snippet, /[\n<>\uE000\uE001]/u);
});
