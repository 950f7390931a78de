/** Today's usage: service document section 2, contract section 2. */
import { Type } from '@sinclair/typebox';
import { Count, ref, Timestamp } from './common.ts';
import { Limits } from './plans.ts';

export const UsedCounters = Type.Object(
  {
    chat: Count('Chat replies charged today.', [1]),
    images: Count('Images charged today.', [0]),
    search: Count('Searches charged today.', [0]),
    tokens: Count('Model tokens in and out today; no ceiling.', [311]),
  },
  {
    $id: 'UsedCounters',
    additionalProperties: false,
    description: 'What the account used since 00:00 UTC, over all keys and the web.',
  },
);

export const Usage = Type.Object(
  {
    plan: Type.String({ maxLength: 40, description: "The account's plan.", examples: ['free'] }),
    used: ref(UsedCounters),
    limits: ref(Limits),
    resetsAt: Timestamp('The next 00:00 UTC, when the counters start again at 0.'),
  },
  { $id: 'Usage', additionalProperties: false, description: "The account's use of today's quota." },
);
