// Messages that are stopped before their reply starts, and replies whose cancellation does not reach the service.
import t from 'tap';
import { noDashboard, startDashboard } from '../support/dashboard-pages.ts';
import { startUpstream } from '../support/upstream/client.ts';

t.setTimeout(900_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.afterEach(() => upstream.reset());

/** A reply that takes six seconds. */
const slow = { chunks: 120, chunkSize: 6, chunkIntervalMs: 50 };
const CHAT = '**/api/v1/chat';
const CANCEL = '**/api/v1/chat/cancel';

async function startChat(t: Parameters<typeof startDashboard>[0]) {
  const dashboard = await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
  const { page } = dashboard;
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  await dashboard.text('8 of 8 replies left today').waitFor();
  return {
    ...dashboard,
    log,
    unsent: log.getByText('You stopped this message before it was sent. Nothing was charged.'),
    ask: async (message: string) => {
      await field.fill(message);
      await field.press('Enter');
    },
  };
}

t.test('a stopped message that was never sent can be sent again', { skip: noDashboard }, async (t) => {
  const { ask, button, chats, complaints, expectRefusals, log, page, text, unsent } = await startChat(t);
  await page.route(CHAT, () => {});
  await ask('Hello');
  expectRefusals();
  await button('Stop').click();
  await unsent.waitFor();
  expectRefusals(0);
  t.equal(await text(/stored|counts toward/).count(), 0, 'neither stored nor charged');
  t.equal(chats.length, 0);
  await page.reload();
  await unsent.waitFor();
  await text('8 of 8 replies left today').waitFor();
  await page.unroute(CHAT);
  await button('Try again').click();
  await log.getByText('You said: Hello').waitFor();
  await text('7 of 8 replies left today').waitFor();
  t.equal(chats.length, 1);
  t.same(complaints, []);
});

t.test('a message that arrives after its cancellation is charged', { skip: noDashboard }, async (t) => {
  const { ask, button, chats, complaints, expectRefusals, page, text, unsent } = await startChat(t);
  await upstream.configure({ firstChunkDelayMs: 60_000 });
  const asked = page.waitForResponse(CANCEL);
  await page.route(CHAT, async (route) => {
    await asked;
    await route.continue();
  });
  await ask('Hello');
  expectRefusals(1);
  await button('Stop').click();
  t.equal((await asked).status(), 404);
  await text('You stopped before the reply started. It still counts toward your daily quota.').waitFor();
  await text('7 of 8 replies left today').waitFor();
  t.equal(await unsent.count(), 0);
  t.equal(chats.length, 1);
  t.same(complaints, []);
});

t.test('if neither the message nor its stop arrives, a retry works', { skip: noDashboard }, async (t) => {
  const { ask, button, complaints, expectRefusals, log, page, text } = await startChat(t);
  await page.route(CHAT, () => {});
  await page.route(CANCEL, (route) => route.abort());
  await ask('Hello');
  expectRefusals(1);
  await button('Stop').click();
  await log.getByText('The service cannot be reached right now.').waitFor();
  await text('You will not be charged twice if you try again.').waitFor();
  await page.unroute(CHAT);
  await button('Try again').click();
  await log.getByText('You said: Hello').waitFor();
  t.same(complaints, []);
});

t.test('stopping a finished reply offers to show the full reply', { skip: noDashboard }, async (t) => {
  const { ask, button, complaints, expectRefusals, page } = await startChat(t);
  await page.route(CANCEL, (route) =>
    route.fulfill({
      status: 409,
      json: { error: { code: 'alreadyFinished', message: 'It is finished.', status: 409 } },
    }),
  );
  // The connection hangs.
  await page.route(CHAT, () => {});
  await ask('Tell me a lot.');
  expectRefusals(1);
  await button('Stop').click();
  await button('Show the full reply').waitFor();
  t.same(complaints, []);
});

t.test('stopping a second message does not cancel the first reply', { skip: noDashboard }, async (t) => {
  const { ask, button, chats, complaints, expectRefusals, log, look, page, unsent } = await startChat(t);
  let cancels = 0;
  await upstream.configure({ ...slow, chunkIntervalMs: 400 });
  await page.route(CANCEL, (route) => {
    cancels += 1;
    return route.fulfill({
      status: 503,
      json: { error: { code: 'serviceUnavailable', message: 'Try again.' } },
    });
  });
  await ask('The first');
  await log.getByText('0xxx').waitFor();
  // The first reply is still in progress when the second message is sent.
  expectRefusals();
  await button('Stop').click();
  await button('Show the full reply').waitFor();
  t.equal(cancels, 1);
  await upstream.configure({});
  await ask('The second');
  await button('Stop').click();
  await unsent.waitFor();
  t.equal(cancels, 1, 'the second message is not canceled, because it was never sent');
  await look(t, 'chat-stopped-unsent');
  await page.reload();
  await log.getByText('119x').waitFor();
  await unsent.waitFor();
  await button('Try again').click();
  await log.getByText('You said: The second').waitFor();
  t.equal(await unsent.count(), 0);
  t.equal(new Set(chats).size, 2, 'each message is charged once');
  expectRefusals(0);
  t.same(complaints, []);
});
