#!/usr/bin/env node
/** `npx parley`: installs and builds what is missing, as `make start` does, and runs the command. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const prepare = fileURLToPath(new URL('prepare.mjs', import.meta.url));
// Standard output belongs to the command.
const { status } = spawnSync(process.execPath, [prepare, 'serve'], { stdio: ['ignore', 2, 2] });
if (status === 0) await import('../dist/src/commands/parley.js');
else process.exitCode = status ?? 1;
