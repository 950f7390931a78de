import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { nodeWithoutTap } from '../support/loader.ts';

const run = promisify(execFile);
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const textOf = (name: string) => readFileSync(path(name), 'utf8');

// `make check` does not install the frameworks, so the types of this folder are checked here.
t.test('this folder compiles against the types of the frameworks', async (t) => {
  const compiler = path('../../node_modules/typescript/bin/tsc');
  const said = await run(...nodeWithoutTap(compiler, '-p', path('tsconfig.json'), '--pretty', 'false')).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  );
  t.equal(said.stdout, '');
});

t.test('the versions in the README and in the guide are those that the tests run', async (t) => {
  const { dependencies } = JSON.parse(textOf('package.json')) as { dependencies: Record<string, string> };
  const readme = [...textOf('../../README.md').matchAll(/`(\S+)`\s(\d+\.\d+)\b/g)];
  const named = readme.filter(([, name = '']) => name in dependencies);
  t.ok(named.length >= 5, 'the README names the frameworks');
  for (const [, name = '', version] of named) t.match(dependencies[name], `${version}.`, name);

  const install = textOf('../../docs/guides/frameworks.md').matchAll(/npm install ([^`]+)`/g);
  const packages = [...install].flatMap(([, list = '']) => list.split(' '));
  for (const one of packages) {
    const [, name = '', major] = /^(.+?)(?:@(\d+))?$/.exec(one) ?? [];
    t.ok(name in dependencies, `${name} is tested`);
    if (major !== undefined) t.match(dependencies[name], new RegExp(`^${major}\\.`), one);
  }
});
