// Counts function calls while a user types and while a reply streams. The count does not depend on the machine.
import type { CDPSession } from 'playwright-core';
import t from 'tap';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { fillConversation, fillConversations, section } from '../support/dashboard-volume.ts';
import { startUpstream } from '../support/upstream/client.ts';

t.setTimeout(1_800_000);

const SECTIONS = 40;
/** Rendering the whole page takes 16,000 calls. */
const MAX_CALLS_PER_LETTER = 6000;
const LETTERS = 'What did we say about the second point?';
/** Code that looks like HTML and Markdown definitions. */
const code = ['```html', '<!doctype html>', '<script>', '', '[a]: 1', '</script>', '```', '', ''].join('\n');
const parts = [code, ...Array.from({ length: SECTIONS }, (_, at) => section(at))];
const chunk = (delta: object, finish: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] });
/** Long enough to render each chunk before the next arrives. */
const chunkIntervalMs = 250;
const events = [...parts.map((content) => chunk({ content })), chunk({}, 'stop'), '[DONE]'];

/** Counts the calls of dashboard functions since the previous count. */
async function callsIn(session: CDPSession): Promise<number> {
  const { result } = await session.send('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.includes('/assets/'))
    .flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0))
    .reduce((sum, count) => sum + count, 0);
}

t.test('work in a long conversation', { skip: noDashboard }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const { accountId, context, database, page } = await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
  await fillConversations(database.db, accountId, 50);
  const session = await context.newCDPSession(page);
  await session.send('Profiler.enable');
  await session.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const field = page.getByLabel('Your message');
  const callsForLetters = async () => {
    await field.fill('');
    await callsIn(session);
    await field.pressSequentially(LETTERS);
    await page.evaluate('new Promise(requestAnimationFrame)');
    return callsIn(session);
  };
  const open = async (messages: number) => {
    const id = await fillConversation(database.db, accountId, `${messages} messages`, messages);
    await page.goto(`https://parley.test/chat/${id}`);
    await page
      .getByRole('article')
      .nth(messages - 1)
      .waitFor();
  };

  await t.test('a key press re-renders neither the messages nor the list', async (t) => {
    await open(100);
    const calls = (await callsForLetters()) / LETTERS.length;
    t.comment(`${Math.round(calls)} calls per letter`);
    t.ok(calls < MAX_CALLS_PER_LETTER, `${calls} calls`);
  });

  await t.test('a reply is parsed about once while it streams', async (t) => {
    await open(2);
    await upstream.configure({ chunkIntervalMs, events });
    await field.fill('Why?');
    await callsIn(session);
    await field.press('Enter');
    await page.locator('[role=log][aria-busy=true]').waitFor();
    await page.locator('[role=log][aria-busy=false]').waitFor();
    const arriving = await callsIn(session);
    await page.reload();
    await page.getByRole('heading', { name: `Part ${SECTIONS - 1}` }).waitFor();
    const opening = await callsIn(session);
    t.comment(`${arriving} calls while the reply streams, ${opening} to open the page`);
    t.ok(arriving < opening * 2, `${arriving} and ${opening} calls`);
  });
});
