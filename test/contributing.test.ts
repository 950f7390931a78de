// The files that CONTRIBUTING.md lists for each kind of change exist.
import fs from 'node:fs';
import t from 'tap';
import { projectRoot } from '../src/project.ts';

const page = fs.readFileSync(new URL('CONTRIBUTING.md', projectRoot), 'utf8');
const tops = fs.readdirSync(projectRoot);
const paths = [...page.matchAll(/`([^`\s]+)`|\]\(([^)\s]+)\)/g)]
  .map(([, code, link]) => code ?? link ?? '')
  .filter((name) => name.includes('/') && tops.includes(name.split('/')[0] ?? ''));

t.test('every path in CONTRIBUTING.md exists', async (t) => {
  t.ok(paths.length > 40);
  for (const name of paths) t.ok(fs.existsSync(new URL(name, projectRoot)), name);
});

t.test('every step in a list begins with the path of a file or folder', async (t) => {
  const steps = page.split('\n').filter((line) => /^\d+\. /.test(line));
  t.ok(steps.length > 40);
  for (const step of steps) t.match(step, /^\d+\. `[\w./-]+`/, step);
});
