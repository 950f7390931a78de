import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { nodeWithoutTap } from '../support/loader.ts';

const run = promisify(execFile);
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const textOf = (name: string) => readFileSync(path(name), 'utf8');

// `make check` does not install the frameworks, so this test checks the types of this folder.
t.test('this folder compiles against the types of the frameworks', async (t) => {
  const compiler = path('../../node_modules/typescript/bin/tsc');
  const said = await run(...nodeWithoutTap(compiler, '-p', path('tsconfig.json'), '--pretty', 'false')).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  );
  t.equal(said.stdout, '');
});

type Manifest = { dependencies: Record<string, string> };
const dependenciesOf = (name: string) =>
  Object.entries((JSON.parse(textOf(name)) as Manifest).dependencies).map(
    // `npm:@anthropic-ai/sdk@1.12.0` is that package under another name.
    ([name, version]) => /^npm:(.+)@(.+)$/.exec(version)?.slice(1) ?? [name, version],
  ) as [name: string, version: string][];

/** The packages of the agents, by their names in the README. */
const agents: Record<string, string> = {
  Codex: '@openai/codex',
  'Claude Code': '@anthropic-ai/claude-code',
  opencode: 'opencode-ai',
  Cline: 'cline',
  Continue: '@continuedev/cli',
};

t.test('the README lists the versions that the tests run', async (t) => {
  const installed = ['package.json', '../clients/package.json', '../agents/package.json'].flatMap(
    dependenciesOf,
  );
  const [, list = ''] = /The tests run ([\s\S]*?)\n\n/.exec(textOf('../../README.md')) ?? [];
  let named: string[] = [];
  const found = new Set<string>();
  const words = new RegExp(`\`(\\S+?)\`|(${Object.keys(agents).join('|')})|(\\d+(?:\\.\\d+)?)`, 'g');
  let wasVersion = true;
  for (const [, code, agent, version] of list.matchAll(words)) {
    if (version === undefined) {
      const name = code ?? agents[agent ?? ''] ?? '';
      named = wasVersion ? [name] : [...named, name];
      found.add(name);
    } else
      for (const name of named) {
        const versions = installed.filter(([other]) => other === name).map(([, installed]) => installed);
        t.ok(
          versions.some((installed) => `${installed}.`.startsWith(`${version}.`)),
          `${name} ${version}: ${versions}`,
        );
      }
    wasVersion = version !== undefined;
  }
  for (const name of [...Object.values(agents), 'openai', '@anthropic-ai/sdk', 'ai'])
    t.ok(found.has(name), `the README names ${name}`);
});

t.test('the guide installs only packages that the tests run', async (t) => {
  const { dependencies } = JSON.parse(textOf('package.json')) as Manifest;
  const install = textOf('../../docs/guides/frameworks.md').matchAll(/npm install ([^`]+)`/g);
  const packages = [...install].flatMap(([, list = '']) => list.split(' '));
  t.ok(packages.length > 0);
  for (const one of packages) {
    const [, name = '', major] = /^(.+?)(?:@(\d+))?$/.exec(one) ?? [];
    t.ok(name in dependencies, `${name} is tested`);
    if (major !== undefined) t.match(dependencies[name], new RegExp(`^${major}\\.`), one);
  }
});
