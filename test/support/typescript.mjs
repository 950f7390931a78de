// Lets the processes that tests start run TypeScript sources: `--import=./test/support/typescript.mjs`.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
