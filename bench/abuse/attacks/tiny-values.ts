import type { Attack } from '../attack.ts';
import { repeat } from '../client.ts';

const body = Buffer.from(`{"messages":[{"role":"user","content":"Hi"}],"x":[${'{},'.repeat(6_900_000)}1]}`);

export default {
  title: '20 MiB of empty objects to /chat/completions, 50 clients of 5 accounts',
  run: repeat(50, (client, { keys }) => ({
    path: '/api/v1/chat/completions',
    key: keys[client % keys.length],
    body,
  })),
} satisfies Attack;
