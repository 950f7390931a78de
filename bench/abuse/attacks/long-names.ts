import type { Attack } from '../attack.ts';
import { completions } from '../client.ts';

/** Unicode normalization expands this character to 18 characters. */
const name = '\ufdfa'.repeat((19 * 2 ** 20) / 3);
const body = Buffer.from(`{"user":"chunks=3","messages":[{"role":"user","content":"Hi"}],"${name}":1}`);

export default {
  title: 'field names of 19 MiB to /chat/completions, 50 clients of 5 accounts',
  run: completions(body),
} satisfies Attack;
