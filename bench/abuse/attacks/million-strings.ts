import type { Attack } from '../attack.ts';
import { completions } from '../client.ts';

const strings = Array.from({ length: 990_000 }, (_, index) => `"k${index.toString(36)}"`).join(',');
const body = Buffer.from(`{"user":"chunks=3","messages":[{"role":"user","content":"Hi","x":[${strings}]}]}`);

export default {
  title: 'a million strings within the limits to /chat/completions, 50 clients of 5 accounts',
  run: completions(body),
} satisfies Attack;
