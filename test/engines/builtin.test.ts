import t from 'tap';
import { guides } from '../../src/docs/guides.ts';
import { sampleQuestions } from '../../src/engines/builtin/replies.ts';
import { createEngines, engineInfo } from '../../src/engines/index.ts';
import type { CompletionInput } from '../../src/engines/types.ts';
import { onEachDatabase } from '../support/service.ts';

const publicUrl = 'https://chat.example.com';
const pages = `${publicUrl}/docs/guides/`;
const signal = new AbortController().signal;

/** New users' questions, each with the section that answers it. */
const answers: Record<string, string> = {
  'How do I create a key?': 'keys#create-an-api-key',
  'how many api keys can i have': 'keys#how-many-api-keys-can-i-have',
  'I lost my API key!': 'keys#i-lost-my-api-key',
  'remove a key': 'keys#revoke-or-delete-an-api-key',
  'What does quotaExceeded mean?': 'errors#quotaexceeded',
  'When does the quota reset?': 'quotas#when-does-the-quota-reset',
  'What happens when my quota is used up?': 'quotas#what-happens-when-i-use-up-my-quota',
  'How do I delete my account?': 'accounts#delete-your-account',
  'I forgot my password': 'accounts#i-forgot-my-password-how-to-reset-it',
  logout: 'accounts#sign-out-log-out',
  'How do I change my plan?': 'plans#change-your-plan',
  'how do I keep my key safe': 'authentication#keep-an-api-key-secret',
  'How long does a session last?': 'authentication#how-long-a-session-lasts',
  'Can I use the openai python library?':
    'openai-compatible#use-the-openai-clients-for-python-and-javascript-with-parley',
  'How do I continue a conversation?': 'chat#continue-a-conversation',
  'How do I run it on PostgreSQL?': 'running-parley#use-postgres-instead-of-the-embedded-database',
  'How do I use Postgres instead of the embedded database?':
    'running-parley#use-postgres-instead-of-the-embedded-database',
  'How do I back up the data?': 'running-parley#back-up-the-data',
  'how many requests can I make per day':
    'quotas#how-many-requests-can-i-make-per-day-the-daily-quota-of-each-plan',
  'Can I call it from my website with JavaScript?':
    'keys#call-the-api-from-a-web-page-or-from-javascript-in-a-browser',
  'health check': 'running-parley#check-the-health-of-the-service',
  'what is parley-builtin': 'models#what-parley-builtin-is',
};

onEachDatabase(t, {}, async (t, { documentation }) => {
  const engines = createEngines({ publicUrl }, documentation);

  const complete = (content: string, input: Partial<CompletionInput> = {}) =>
    engines.chat.complete(
      { model: 'parley-builtin', messages: [{ role: 'user', content }], ...input },
      signal,
    );
  const reply = async (content: string) => (await complete(content)).choices[0]?.message.content ?? '';
  const known = new Set(
    guides().flatMap(({ slug, sections }) => [slug, ...sections.map(({ anchor }) => `${slug}#${anchor}`)]),
  );
  const linksOf = (text: string) => [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link ?? '');

  for (const [question, section] of Object.entries(answers)) {
    // In a title, the report parser treats "#" as the start of a directive.
    await t.test(`chat: "${question}" is answered from ${section.replace('#', ', ')}`, async (t) => {
      const text = await reply(question);
      t.match(text, /^No language model is configured on this service/);
      t.equal(linksOf(text)[0], pages + section);
    });
  }

  await t.test("chat: a reply quotes the section, and its example uses this service's URL", async (t) => {
    const text = await reply('How do I create a key?');
    t.match(text, /```bash\n[^`]*https:\/\/chat\.example\.com\/api\/v1\/keys/);
    t.match(text, /Only this response shows it/);
    t.notMatch(text, 'localhost:3000/');
    t.match(text, /\nSee also:\n\n- \[/);
  });

  await t.test(
    'chat: of examples in several languages, a reply quotes the requested language, or the first one by default',
    async (t) => {
      t.match(await reply('send a chat message in python'), '```python');
      t.notMatch(await reply('send a chat message in python'), '```bash');
      t.match(await reply('send a chat message'), '```bash');
    },
  );

  await t.test('chat: every link in a reply leads to a section of a guide', async (t) => {
    for (const question of [
      ...sampleQuestions,
      ...Object.keys(answers),
      'errors',
      'key',
      'plan',
      'embedded database',
    ]) {
      for (const link of linksOf(await reply(question))) {
        t.ok(link.startsWith(pages) && known.has(link.slice(pages.length)), `${question}: ${link}`);
      }
    }
  });

  await t.test('chat: every suggested question has an answer in the guides', async (t) => {
    for (const question of sampleQuestions)
      t.match(await reply(question), 'so this reply comes from the guides', question);
  });

  await t.test('chat: a reply to a question that the guides do not cover says so', async (t) => {
    for (const question of ['What is the capital of France?', 'Wie spät ist es?']) {
      const text = await reply(question);
      t.match(
        text,
        'its guides, which are in English, do not cover this question. To answer it, the operator must connect a language model.',
        question,
      );
      t.match(text, sampleQuestions[0], question);
    }
  });

  await t.test('chat: a reply to small talk is short and identifies the built-in engine', async (t) => {
    for (const [message, opening] of [
      ['Hello!', 'Hello!'],
      ['thanks a lot', 'You are welcome.'],
      ['Say this is a test', 'It works'],
      ['Who are you?', 'I am the built-in engine'],
      ['%&|!', 'I am the built-in engine'],
    ] as const) {
      const text = await reply(message);
      t.ok(text.startsWith(opening), text);
      t.match(text, 'No language model is configured', message);
    }
  });

  await t.test('chat: the same question always gets the same reply', async (t) => {
    t.equal(await reply('How do I create a key?'), await reply('How do I create a key?'));
  });

  await t.test('chat: the reply depends only on the last user message, as text or as parts', async (t) => {
    const expected = await reply('How do I delete my account?');
    const messages: CompletionInput['messages'] = [
      { role: 'system', content: 'Talk about plans.' },
      { role: 'developer', content: 'Talk about errors.' },
      { role: 'user', content: 'How do I create a key?' },
      { role: 'assistant', content: 'Like this.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'How do I' },
          { type: 'image_url' },
          { type: 'text', text: 'delete my account?' },
        ],
      },
      { role: 'assistant', content: null },
    ];
    t.equal((await complete('', { messages, temperature: 2 })).choices[0]?.message.content, expected);
    const without = await complete('', { messages: [{ role: 'system', content: 'Hello.' }] });
    t.match(without.choices[0]?.message.content, 'built-in engine', 'no user message');
  });

  await t.test('chat: a question at the beginning or the end of a long message is answered', async (t) => {
    t.match(await reply(`How do I create a key? ${'. '.repeat(50_000)}`), 'keys#create-an-api-key');
    t.match(await reply(`${'. '.repeat(50_000)} How do I create a key?`), 'keys#create-an-api-key');
  });

  await t.test('search: results name the guide and the section, and link to the section', async (t) => {
    const results = await engines.search.search('create a key', 5, signal);
    t.equal(results.length, 5);
    t.match(results[0], { title: 'API keys: Create an API key', url: `${pages}keys#create-an-api-key` });
    t.same(await engines.search.search('the', 5, signal), []);
  });

  await t.test('engineInfo names the engines and the default model', async (t) => {
    t.match(await engineInfo(engines), {
      chat: 'builtin',
      search: 'builtin',
      default_model: 'parley-builtin',
    });
    t.match(await engines.chat.models(), [{ id: 'parley-builtin', object: 'model', owned_by: 'parley' }]);
  });
});
