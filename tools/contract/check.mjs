/**
 * Compares openapi.json with `released.json`, the document of the last release. Prints breaking changes and exits with
 * 1 if it finds any. `released.json` changes only in release commits: after package.json has the new version, `node
 * tools/contract/check.mjs --release` copies the document.
 */
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { breakingChanges } from './breaking.mjs';
import { strayChange } from './stray-change.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const current = new URL('../../openapi.json', import.meta.url);
const released = new URL('released.json', import.meta.url);
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));

const isRelease = process.argv.includes('--release');
const found = breakingChanges(read(released), read(current), new Date(), { isRelease });
if (isRelease && found.length === 0) fs.copyFileSync(current, released);
const stray = strayChange(root);
if (stray !== undefined) found.push(stray);
for (const line of found) console.log(line);
if (found.length > 0) process.exitCode = 1;
