import type { Attack } from '../attack.ts';
import { repeat } from '../client.ts';

const terms = Array.from({ length: 100 }, (_, index) => String.fromCharCode(97 + (index % 26))).join('+');

export default {
  title: '/docs/search with 100 one-letter terms, 50 clients',
  run: repeat(50, () => ({ path: `/docs/search?q=${terms}` })),
} satisfies Attack;
