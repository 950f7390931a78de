import type { Attack } from '../attack.ts';
import { repeat } from '../client.ts';

let tries = 0;

export default {
  title: 'failed sign-ins, each with a different email address, 50 clients',
  run: repeat(50, () => {
    tries += 1;
    const account = { email: `nobody-${tries}@example.com`, password: 'not the right one' };
    return { path: '/api/v1/auth/login', body: JSON.stringify(account) };
  }),
} satisfies Attack;
