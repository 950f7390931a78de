// `make check` does not install the frameworks, so the types of this folder are checked here.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { nodeWithoutTap } from '../support/loader.ts';

const run = promisify(execFile);
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

t.test('this folder compiles against the types of the frameworks', async (t) => {
  const compiler = path('../../node_modules/typescript/bin/tsc');
  const said = await run(...nodeWithoutTap(compiler, '-p', path('tsconfig.json'), '--pretty', 'false')).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  );
  t.equal(said.stdout, '');
});
