/** Fills an account with a lot of data, directly in the service's tables. */
import type { Db } from '../../src/database/client.ts';
import { conversations, messages, requests } from '../../src/database/tables.ts';
import { newId } from '../../src/domain/ids.ts';

const MINUTE_MS = 60_000;

/** About 700 characters of Markdown with each kind of element. */
export const section = (number: number): string =>
  [
    `## Part ${number}`,
    '',
    `Paragraph ${number} has **bold**, *italic*, and \`inline code\`, and goes on for a while, as answers do.`,
    '',
    '- A first point with some words',
    '- A second point, [with a link](https://parley.test/)',
    '',
    '```js',
    `const answer = await ask('question ${number}');`,
    'console.log(answer.text);',
    '```',
    '',
    '| Plan | Price |',
    '|---|--:|',
    '| Free | 0 |',
    `| Plus | ${number} |`,
    '',
    'The last paragraph says how all of it fits together, and what to look at next, in two lines on a wide screen.',
    '',
    '',
  ].join('\n');

/** Inserts a conversation of `count` messages, the newest of which is a minute old. Returns its ID. */
export async function fillConversation(db: Db, accountId: string, title: string, count: number) {
  const conversationId = newId();
  const start = Date.now() - (count + 1) * MINUTE_MS;
  const at = (index: number) => new Date(start + index * MINUTE_MS);
  await db
    .insert(conversations)
    .values({ accountId, id: conversationId, title, createdAt: at(0), updatedAt: at(count) });
  await db.insert(messages).values(
    Array.from({ length: count }, (_, index) => ({
      accountId,
      conversationId,
      id: newId(),
      position: index + 1,
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: index % 2 === 0 ? `Question ${index + 1}` : `Answer ${index + 1}\n\n${section(index + 1)}`,
      model: index % 2 === 0 ? null : 'test-model',
      createdAt: at(index),
    })),
  );
  return conversationId;
}

/** Inserts `count` conversations of two messages each. */
export async function fillConversations(
  db: Db,
  accountId: string,
  count: number,
  title = 'Conversation',
): Promise<void> {
  for (let number = 1; number <= count; number += 1)
    await fillConversation(db, accountId, `${title} ${number}`, 2);
}

/** Inserts `count` charges of today, newest first, 10 ms apart. */
export async function fillRequests(
  db: Db,
  accountId: string,
  keyId: string | null,
  count: number,
): Promise<void> {
  const process = newId();
  const day = new Date().toISOString().slice(0, 10);
  const rows = Array.from({ length: count }, (_, index) => {
    const at = new Date(Date.now() - index * 10);
    const isFailed = index % 9 === 0;
    return {
      accountId,
      day,
      id: newId(),
      keyId,
      endpoint: index % 7 === 0 ? 'POST /api/v1/images/generations' : 'POST /api/v1/chat',
      meter: index % 7 === 0 ? 'images' : 'chat',
      units: 1,
      state: 'final' as const,
      process,
      admittedAt: at,
      settledAt: at,
      status: isFailed ? 502 : 200,
      code: isFailed ? 'upstreamError' : null,
      model: 'test-model',
      inputTokens: 1_200,
      outputTokens: 34,
      latencyMs: 1234,
      details: { first_output_ms: 310 },
    };
  });
  for (let from = 0; from < rows.length; from += 1000)
    await db.insert(requests).values(rows.slice(from, from + 1000));
}
