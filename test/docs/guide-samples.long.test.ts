// The docs show each curl call of the guides in JavaScript and Python too, and the generated code runs unchanged.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { marked, type Token, type Tokens } from 'marked';
import t from 'tap';
import { withAllLanguages } from '../../src/docs/guide-samples.ts';
import { anchorMaker, guides, inlineText } from '../../src/docs/guides.ts';
import type { Client, Owner } from '../support/http.ts';
import { isInstalled } from '../support/programs.ts';
import { startTestService } from '../support/service.ts';

/** Samples with pipes, shell variables, several calls, or options for what curl prints or saves. */
const onlyInShell = [
  'getting-started#start-parley-on-your-machine',
  'getting-started#create-your-first-api-key',
  'keys#change-the-allowed-origins-of-a-key',
  'keys#revoke-or-delete-an-api-key',
  'browser-keys#how-parley-responds-to-a-preflight-request',
  'rotating-and-leaked-keys#rotate-an-api-key',
  'rotating-and-leaked-keys#end-the-old-secret-early',
  'rotating-and-leaked-keys#report-a-leaked-key',
  'chat#read-one-conversation',
  'chat#rename-pin-and-configure-a-conversation',
  'chat#delete-a-conversation',
  'openai-compatible#use-the-responses-api',
  'openai-compatible#use-the-responses-api',
  'idempotent-retries#retry-a-request-without-being-charged-twice',
  'idempotent-retries#retry-an-interrupted-stream',
  'versioning#how-is-a-removal-announced',
  'rate-limits#show-the-ratelimit-headers-with-curl',
  'usage-history#download-the-request-log-as-csv-or-json',
  'usage-history#find-out-what-an-api-key-was-used-for',
  'sessions-and-security#sign-out-of-another-device',
  'running-parley#set-your-own-plans',
  'running-parley#check-the-health-of-the-service',
  'running-parley#collect-metrics-with-prometheus',
];

const languages = ['js', 'python'] as const;
type Language = (typeof languages)[number];
/** A sample without `others` is shown only for the shell. */
type Sample = { place: string; curl: string; others?: Record<Language, string>; isMade: boolean };
type Job = [file: string, env: Record<string, string>];

const isCode = (token: Token | undefined): token is Tokens.Code => token?.type === 'code';

/** The code blocks that call curl. */
function samplesOf(document: object): Sample[] {
  return guides().flatMap(({ markdown, slug }) => {
    const anchorOf = anchorMaker();
    let anchor = '';
    const tokens = marked.lexer(withAllLanguages(markdown, document)).filter(({ type }) => type !== 'space');
    return tokens.flatMap((token, index) => {
      if (token.type === 'heading') anchor = anchorOf(inlineText(token.tokens ?? []));
      if (!isCode(token) || token.lang !== 'bash' || !/\bcurl /.test(token.text)) return [];
      const next = tokens.slice(index + 1, index + 3).filter(isCode);
      const [js, python] = languages.map((lang) => next.find((block) => block.lang === lang)?.text);
      return {
        place: `${slug}#${anchor}`,
        curl: token.text,
        ...(js !== undefined && python !== undefined && { others: { js, python } }),
        isMade: python !== undefined && !markdown.includes(python),
      };
    });
  });
}

/** All samples of a language run in one process, which prints this character before each sample. */
const MARK = '\x1e';
const runners: Record<Language, (jobs: string) => [program: string, args: string[]]> = {
  js: (jobs) => [
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `for (const [file, env] of ${jobs}) {
        console.log('${MARK}');
        Object.assign(process.env, env);
        await import(file).catch(({ stack }) => console.log(stack));
      }`,
    ],
  ],
  python: (jobs) => [
    'python3',
    [
      '-c',
      `import json, os, runpy, sys
for file, env in json.loads(sys.argv[1]):
    print("${MARK}")
    os.environ.update(env)
    try:
        runpy.run_path(file)
    except Exception as error:
        print(error)`,
      jobs,
    ],
  ],
};

/** The output of each job. */
async function outputsOf(language: Language, jobs: readonly Job[]): Promise<string[]> {
  const [program, args] = runners[language](JSON.stringify(jobs));
  const { stdout } = await promisify(execFile)(program, args, { timeout: 120_000, maxBuffer: 50_000_000 });
  return stdout.split(MARK).slice(1);
}

async function ownerFor(client: Client, curl = ''): Promise<Owner> {
  // The guide about accounts signs in again after changing the password.
  const [password] = /(?<="(?:current_)?password":")[^"]+/.exec(curl) ?? [];
  const owner = await client.signUp(undefined, password);
  await client.put('/webhook', { url: 'https://hooks.example.com' }, owner);
  return owner;
}

t.test('guide samples run', { skip: !isInstalled('python3') && 'python3 is not installed' }, async (t) => {
  const { app, client, port } = await startTestService(t, 'embedded', { BILLING: 'open' });
  const all = samplesOf(app.swagger());
  const inAll = all.filter(({ others }) => others !== undefined);
  const left = all.filter(({ others }) => others === undefined);
  t.same(
    left.map(({ place }) => place),
    onlyInShell,
    'the other samples are shown only for the shell',
  );
  t.ok(inAll.length >= 62, `${inAll.length} of ${all.length} are shown in all languages`);
  const made = inAll.filter(({ isMade }) => isMade);
  t.ok(made.length >= 54, `${made.length} are generated from curl`);

  const shared = await ownerFor(client);
  const { key } = await client.createKey(shared);
  for (const language of languages) {
    const folder = t.testdir({ 'package.json': '{}' });
    const jobs: Job[] = [];
    for (const [place, { curl, others }] of made.entries()) {
      const changesAccount = / -[dX] /.test(curl) && /(?:account|auth|keys)\b/.test(curl);
      const owner = changesAccount ? await ownerFor(client, curl) : shared;
      const email = /auth\/signup|-X PATCH/.test(curl) ? `${language}-${place}@example.com` : owner.email;
      const file = join(folder, `${place}.${language === 'js' ? 'mjs' : 'py'}`);
      const source = (others?.[language] ?? '')
        .replaceAll('http://localhost:3000', `http://localhost:${port}`)
        .replace(/ada[.\w]*@example\.com/, email);
      writeFileSync(file, source);
      jobs.push([file, { PARLEY_KEY: key, PARLEY_COOKIE: owner.cookie }]);
    }
    const outputs = await outputsOf(language, jobs);
    for (const [index, { curl, place }] of made.entries()) {
      const output = outputs[index]?.trim() ?? '';
      const isRefused = /no-such-|\/cancel/.test(curl);
      t.match(output, isRefused ? /^(?:404|HTTP Error 404)/ : /^2\d\d/, `${place}: ${language}`);
    }
  }
});
