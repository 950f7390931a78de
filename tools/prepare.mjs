/**
 * Prepares this checkout: `node tools/prepare.mjs serve|test|lint` installs missing packages and builds changed parts.
 *
 * Plain JavaScript without dependencies, because it runs before anything is installed. This file and
 * `prepare/node-version.mjs` use only syntax that Node 12 can parse, so that an old Node prints a message instead of a
 * syntax error. Other modules load only after the version check.
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
