// Runs TypeScript sources in the many processes that tests start: `--import=./test/support/typescript.mjs`.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
