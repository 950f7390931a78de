/**
 * Readies this checkout: `node tools/prepare.mjs serve|test|lint` installs what is missing and builds what changed.
 *
 * Plain JavaScript without dependencies, because it runs before anything is installed. This file and
 * `prepare/node-version.mjs` keep to what Node 12 can parse, so that an old Node answers with a sentence and not with
 * a syntax error; everything else is loaded only once the version is known to be right.
 */
// biome-ignore lint/style/useNodejsImportProtocol: an old Node does not know it.
import { readFileSync } from 'fs';
import { nodeProblem } from './prepare/node-version.mjs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const problem = nodeProblem(process.versions.node, engines.node);
if (problem) {
  console.error(problem);
  process.exitCode = 1;
} else {
  import('./prepare/main.mjs').then((main) => main.run(process.argv.slice(2)));
}
