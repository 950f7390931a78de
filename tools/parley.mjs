#!/usr/bin/env node
/** `npx parley`: installs and builds missing parts, as `make start` does, and runs the command. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const prepare = fileURLToPath(new URL('prepare.mjs', import.meta.url));
// Only the command may write to standard output.
const { status } = spawnSync(process.execPath, [prepare, 'serve'], { stdio: ['ignore', 2, 2] });
if (status === 0) await import('../dist/src/commands/parley.js');
else process.exitCode = status ?? 1;
