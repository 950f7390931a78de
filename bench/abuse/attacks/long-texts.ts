import type { Attack } from '../attack.ts';
import { completions } from '../client.ts';

const text = 'x'.repeat(19 * 2 ** 20);
const body = Buffer.from(`{"user":"chunks=3","messages":[{"role":"user","content":"${text}"}]}`);

export default {
  title: 'valid texts of 19 MiB to /chat/completions, 50 clients of 5 accounts',
  run: completions(body),
} satisfies Attack;
