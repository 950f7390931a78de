import t from 'tap';
import { type GuideText, loadPassages, searchPassages } from '../../src/store/passages.ts';
import { onEachDatabase } from '../support/service.ts';

const section = (heading: string, text: string) => ({
  heading,
  anchor: heading.toLowerCase().replaceAll(' ', '-'),
  text,
});

const guides: GuideText[] = [
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

onEachDatabase(t, {}, async (t, { database: { db } }) => {
  const found = async (query: string) => (await searchPassages(db, query, 10)).map(({ heading }) => heading);

  await t.test('loadPassages: five that start at once load the guides once', async (t) => {
    // The service has loaded its own.
    const loaded = await Promise.all(Array.from({ length: 5 }, () => loadPassages(db, guides)));
    t.equal(loaded.filter(Boolean).length, 1);
    t.equal((await searchPassages(db, 'key sign password', 50)).length, 6);
  });

  await t.test(
    'loadPassages: replaces the passages when the guides have changed, and only then',
    async (t) => {
      t.equal(await loadPassages(db, guides), false);
      t.equal(
        await loadPassages(db, [
          { slug: 'other', title: 'Other', sections: [section('Elephants', 'Grey.')] },
        ]),
        true,
      );
      t.same(await found('create a key'), []);
      t.same(await found('elephant'), ['Elephants']);
      t.equal(await loadPassages(db, guides), true);
      t.same(await found('elephant'), []);
    },
  );

  await t.test('searchPassages: a whole question finds a section that lacks most of its words', async (t) => {
    t.equal(
      (await found('How would one go about it to create such a key in practice?'))[0],
      'Create an API key',
    );
  });

  await t.test('searchPassages: words in a heading count more than in the text', async (t) => {
    t.strictSame((await found('create')).slice(0, 2), ['Create an API key', 'List your keys']);
  });

  await t.test('searchPassages: a rare word counts more than a frequent one', async (t) => {
    t.equal((await found('send salt'))[0], 'Passwords');
  });

  await t.test('searchPassages: forms of a word, and other words for it, find it', async (t) => {
    for (const query of ['revoking', 'delete', 'removed', 'how do I cancel a key'])
      t.equal((await found(query))[0], 'Revoke a key', query);
  });

  await t.test('searchPassages: neighbouring words tell sign in from sign out', async (t) => {
    for (const query of ['how do I log in', 'login', 'sign-in'])
      t.equal((await found(query))[0], 'Sign in (log in)', query);
    for (const query of ['how do I log out', 'logout', 'sign out'])
      t.equal((await found(query))[0], 'Sign out (log out)', query);
  });

  await t.test('searchPassages: nothing but stop words or no words finds nothing', async (t) => {
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
      t.same(await found(query), [], JSON.stringify(query));
    }
  });

  await t.test('searchPassages: what means something to SQL or tsquery means nothing', async (t) => {
    const plain = await searchPassages(db, 'create key', 10);
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
      "create key'); drop table passages; --",
    ];
    for (const query of queries) {
      const words = query.includes('drop')
        ? await searchPassages(db, 'create key drop table passages', 10)
        : plain;
      t.same(await searchPassages(db, query, 10), words, query);
    }
    t.same(await searchPassages(db, 'key', 10).then((hits) => hits.length), 3, 'the table is still there');
  });

  await t.test('searchPassages: any text is answered', async (t) => {
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
    for (const text of texts)
      t.ok(Array.isArray(await searchPassages(db, text, 10)), JSON.stringify(text).slice(0, 40));
  });

  await t.test('searchPassages: the work is bounded, however long the query', async (t) => {
    const startedAt = performance.now();
    const words = Array.from({ length: 200_000 }, (_, index) => `word${index}`).join(' ');
    t.same(await searchPassages(db, `${words} revoke`, 10), [], 'words far behind are passed over');
    t.equal((await searchPassages(db, `revoke ${words}`, 10))[0]?.heading, 'Revoke a key');
    t.ok(performance.now() - startedAt < 20_000);
  });

  await t.test('searchPassages: at most so many as asked for, best first, scores from 0 to 1', async (t) => {
    const hits = await searchPassages(db, 'create revoke list key', 2);
    t.equal(hits.length, 2);
    const scores = (await searchPassages(db, 'create an API key', 10)).map(({ score }) => score);
    t.same(
      scores,
      [...scores].sort((one, other) => other - one),
    );
    t.ok(
      scores.every((score) => score > 0 && score <= 1),
      String(scores),
    );
    t.ok((scores[0] ?? 0) > 0.9, 'the very heading comes near 1');
  });

  await t.test(
    'searchPassages: the snippet is one line of plain text with the words that were asked for',
    async (t) => {
      const [hit] = await searchPassages(db, 'argon2id', 1);
      t.match(hit?.snippet, /^Argon2id hashes them, with a salt\. Nor does it here\./);
      t.ok((hit?.snippet.length ?? 0) <= 300);
      for (const { snippet } of await searchPassages(db, 'key list sign', 10))
        t.notMatch(snippet, /[\n<>\uE000\uE001]/u);
    },
  );
});
