// The check of the dashboard's texts: the problems that it finds, and that the dashboard has none.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const program = fileURLToPath(new URL('../../tools/texts.mjs', import.meta.url));
const { textProblems: check } = (await import(program)) as {
  textProblems: (folder?: string, openapi?: string) => Promise<string[]>;
};

const fine = {
  en: "export default { page: { title: 'Keys', count: '{count, plural, one {# key} other {# keys}}' } } as const;",
  de: "export default { page: { title: 'Schlüssel', count: '{count, plural, one {# Schlüssel} other {# Schlüssel}}' } };",
  page: "export const Page = () => <h1 title={t('page.title')}>{t('page.count', { count: 1 })} Parley</h1>;",
};

const checkFolder = (t: Test, { de, en, page }: typeof fine) =>
  check(t.testdir({ texts: { 'en.ts': en, 'de.ts': de }, pages: { 'page.tsx': page } }));

t.test("the dashboard's texts have no problems", async (t) => t.same(await check(), []));

t.test('correct texts have no problems', async (t) => t.same(await checkFolder(t, fine), []));

/** An OpenAPI document with a session endpoint, an endpoint for API keys only, and errors of both kinds. */
const openapi = JSON.stringify({
  components: { responses: { Missing: { description: '- `notFound`: The resource was not found.' } } },
  paths: {
    '/one': {
      get: {
        security: [{ apiKey: [] }, { session: [] }],
        responses: {
          200: { description: '- `fine`: It worked.' },
          404: { $ref: '#/components/responses/Missing' },
          409: {
            description: '- `taken`: Send another `Idempotency-Key`.\n- `invalidApiKey`: The key is unknown.',
          },
        },
      },
    },
    '/two': { get: { security: [{ apiKey: [] }], responses: { 400: { description: '- `ofKeys`: No.' } } } },
  },
});

const checkErrors = (t: Test, en: string, de: string) => {
  const errors = (texts: string) => `export const apiErrors = ${texts};`;
  const folder = t.testdir({
    'openapi.json': openapi,
    texts: { 'en.ts': fine.en + errors(en), 'de.ts': fine.de + errors(de) },
    pages: { 'page.tsx': fine.page },
  });
  return check(folder, `${folder}/openapi.json`);
};

t.test(
  'every language has a text for each error of a session, in English only if the API message contains code',
  async (t) => {
    const english = "{ taken: 'Send it again.' }";
    const german = "{ notFound: 'Nicht gefunden.', 'taken.email': 'Vergeben.', taken: 'Vergeben.' }";
    t.same(await checkErrors(t, english, german), []);
    t.same(await checkErrors(t, '{}', german), ['en: "taken" has no text in apiErrors']);
    t.same(await checkErrors(t, english, german.replace('notFound', 'fine')), [
      'de: "notFound" has no text in apiErrors',
      'de: "fine" in apiErrors is not an error of a session',
    ]);
  },
);

const problems: [string, Partial<typeof fine>, string][] = [
  [
    'a key that is missing from a language',
    { de: fine.de.replace("title: 'Schlüssel', ", '') },
    'de: "page.title" is missing',
  ],
  [
    'a key that is missing from English',
    { de: fine.de.replace('page: {', "page: { more: 'Mehr',") },
    'de: "page.more" does not exist in English',
  ],
  ['an unused key', { page: fine.page.replace("'page.title'", 'x') }, 'en: "page.title" is not used'],
  [
    'a missing plural form',
    { de: fine.de.replace('one {# Schlüssel} ', '') },
    'de: "page.count" lacks the plural form "one"',
  ],
  [
    'a placeholder that is missing from a language',
    { en: fine.en.replace("'Keys'", "'Keys of {name}'") },
    'de: "page.title" lacks {name}',
  ],
  [
    'a tag that is missing from English',
    { de: fine.de.replace("'Schlüssel'", "'<b>Schlüssel</b>'") },
    'de: "page.title" has <b>, which English does not have',
  ],
  [
    'text in JSX',
    { page: fine.page.replace('Parley', 'keys') },
    'pages/page.tsx:1: "keys" belongs in texts/',
  ],
  [
    'text in an attribute',
    { page: fine.page.replace('<h1 ', '<h1 aria-label="Keys" ') },
    'pages/page.tsx:1: "Keys" belongs in texts/',
  ],
  [
    'text in a conditional expression',
    { page: fine.page.replace('Parley', "{isNew ? 'new' : ''}") },
    'pages/page.tsx:1: "new" belongs in texts/',
  ],
  [
    'a sentence in a string',
    { page: `const said = 'No keys yet';\n${fine.page}` },
    'pages/page.tsx:1: "No keys yet" belongs in texts/',
  ],
  [
    'a call of t at module level',
    { page: `const title = t('page.title');\n${fine.page}` },
    'pages/page.tsx:1: "t" is called before the language is known',
  ],
];

for (const [name, changes, line] of problems)
  t.test(`finds ${name}`, async (t) => t.same(await checkFolder(t, { ...fine, ...changes }), [line]));

t.test('the program prints problems and exits with 1', async (t) => {
  const folder = t.testdir({
    texts: { 'en.ts': fine.en, 'de.ts': fine.de },
    pages: { 'page.tsx': fine.page.replace('Parley', 'keys') },
  });
  const { status, stdout } = spawnSync(process.execPath, [program, folder], { encoding: 'utf8' });
  t.same([status, stdout], [1, 'pages/page.tsx:1: "keys" belongs in texts/\n']);
});
