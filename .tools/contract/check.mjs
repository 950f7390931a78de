/**
 * Compares openapi.json with `released.json` beside this file: the document of the last release, which changes in release
 * commits only (`node .tools/contract/check.mjs --release` copies it). Prints what breaks clients; exit code 1 then.
 */
import fs from 'node:fs';
import { breakingChanges } from './breaking.mjs';

const current = new URL('../../openapi.json', import.meta.url);
const released = new URL('released.json', import.meta.url);
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));

const isRelease = process.argv.includes('--release');
const found = breakingChanges(read(released), read(current), new Date(), { isRelease });
for (const line of found) console.log(line);
if (found.length > 0) process.exitCode = 1;
else if (isRelease) fs.copyFileSync(current, released);
