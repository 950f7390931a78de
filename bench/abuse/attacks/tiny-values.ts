import type { Attack } from '../attack.ts';
import { completions } from '../client.ts';

const body = Buffer.from(`{"messages":[{"role":"user","content":"Hi"}],"x":[${'{},'.repeat(6_900_000)}1]}`);

export default {
  title: '20 MiB of empty objects to /chat/completions, 50 clients of 5 accounts',
  run: completions(body),
} satisfies Attack;
