import type { Attack } from '../attack.ts';
import { repeat } from '../client.ts';

const body = Buffer.from(`[${'{},'.repeat(349_000)}1]`);
const paths = ['/auth/login', '/auth/signup', '/keys/report-leak'];

export default {
  title: '1 MiB of empty objects to routes without a credential, 50 clients',
  run: repeat(50, (client) => ({ path: `/api/v1${paths[client % paths.length]}`, body })),
} satisfies Attack;
