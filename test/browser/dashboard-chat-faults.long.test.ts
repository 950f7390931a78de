// The chat with navigation, other tabs, no network, an ended session, upstream faults, and limits.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { clipboardText, cookieHeader } from '../support/browser.ts';
import { fewChats, HOME, noDashboard, plan, startDashboard } from '../support/dashboard-pages.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';

t.setTimeout(1_800_000);

const upstream = await startUpstream();
t.teardown(() => upstream.stop());
t.afterEach(() => upstream.reset());

/** Enough for the script and the styles of a page, and their preloads. */
const MAX_LOADS = 25;

/** Enough to reveal an endless retry, which takes one or two frames per attempt. */
const manyFrames = `(async () => {
  for (let frame = 0; frame < 60; frame += 1) await new Promise(requestAnimationFrame);
})()`;

/** Counts the dashboard files that the page requests from now on. */
function countLoads(page: Page): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/assets/')) count += 1;
  });
  return () => count;
}

/** A reply that takes six seconds. */
const slow = { chunks: 120, chunkSize: 6, chunkIntervalMs: 50 };

t.test('a draft survives other pages and reloads, but not a sign-out', { skip: noDashboard }, async (t) => {
  const { button, client, complaints, context, dialog, look, page } = await startDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
  });
  const field = page.getByLabel('Your message');
  const openPage = (name: string) =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();

  await field.fill('A question that is not finished');
  await openPage('Usage');
  await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
  await openPage('Chat');
  t.equal(
    await field.inputValue(),
    'A question that is not finished',
    'the draft survives visiting another page',
  );
  await page.reload();
  t.equal(await field.inputValue(), 'A question that is not finished', 'the draft survives a reload');
  await page.keyboard.press('Escape');
  await field.fill('Hello');
  await field.press('Enter');
  await page.waitForURL('**/chat/*');
  await page.locator('[role=log][aria-busy=false]').getByText('You said: Hello').waitFor();
  t.equal(await field.inputValue(), '', 'a sent message is no longer a draft');
  await field.fill('More of it');
  await button('New chat').click();
  await page.waitForURL('**/chat');
  t.equal(await field.inputValue(), '', 'each conversation has its own draft');
  await page.goBack();
  await page.waitForURL('**/chat/*');
  t.equal(await field.inputValue(), 'More of it');
  await button('New chat').click();
  await page.waitForURL('**/chat');
  await field.fill('Of the first');

  const tab = await context.newPage();
  await tab.goto(`${HOME}/usage`);
  await tab.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
  await button('Sign out').click();
  await dialog.getByText('You have an unsent message. Sign out anyway?').waitFor();
  await look(t, 'sign-out-draft');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  t.equal(await field.inputValue(), 'Of the first', 'canceling the sign-out keeps the draft');
  await button('Sign out').click();
  await dialog.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await tab.getByText('You signed out in another tab.').waitFor();
  t.equal(await page.getByText('in another tab').count(), 0, 'only the other tab shows the message');
  await tab.close();
  t.notMatch(
    await page.evaluate('JSON.stringify(sessionStorage)'),
    /More of it|Of the first/,
    'signing out clears the drafts',
  );
  const other = await client.signUp();
  await page.getByLabel('Email address').fill(other.email);
  await page.getByLabel('Password', { exact: true }).fill(other.password);
  await button('Sign in').click();
  await page.getByRole('heading', { level: 1, name: 'Your API' }).waitFor();
  await openPage('Chat');
  await field.waitFor();
  t.equal(await field.inputValue(), '', 'another account does not get the draft');
  // Another user signs in after the session has ended elsewhere. The dashboard notices with its next request.
  await page.getByLabel('Model').waitFor();
  for (const loaded of ['replies left today', 'Your conversations will appear here'])
    await page.getByText(loaded).waitFor();
  await field.fill('The secret of the second');
  const cookie = await cookieHeader(context);
  await client.post('/auth/logout', undefined, { cookie });
  const third = await client.signUp();
  const left = complaints.length;
  await openPage('Settings');
  await page.getByText('Your session has ended').waitFor();
  await page.getByLabel('Email address').fill(third.email);
  await page.getByLabel('Password', { exact: true }).fill(third.password);
  await button('Sign in').click();
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
  await openPage('Chat');
  await field.waitFor();
  t.equal(await field.inputValue(), '');
  t.ok(complaints.slice(left).every((one) => one.includes('401')));
  t.equal(left, 0, 'no console errors');
});

t.test('after a new sign-in, the conversation and the draft are back', { skip: noDashboard }, async (t) => {
  const { button, client, complaints, cookie, email, expectRefusals, look, page, password } =
    await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  await upstream.configure(slow);
  await field.fill('Tell me a lot.');
  await field.press('Enter');
  await page.waitForURL('**/chat/*');
  await log.getByText('0xxx').waitFor();
  const { pathname } = new URL(page.url());
  await field.fill('And then I want to know');
  await client.post('/auth/logout', undefined, { cookie });
  // Once the reply is complete, the dashboard fetches the remaining quota, and the service refuses.
  expectRefusals();
  await page.getByText('Your session has ended. Sign in to continue where you left off.').waitFor();
  await look(t, 'chat-session-ended');
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await button('Sign in').click();
  await log.getByText('119x').waitFor();
  expectRefusals(0);
  t.equal(new URL(page.url()).pathname, pathname, 'signing in returns to the same conversation');
  t.equal(await field.inputValue(), 'And then I want to know', 'the draft is still there');

  // A message that is sent after the session has ended waits until the user signs in again.
  await upstream.configure({});
  const again = await cookieHeader(page.context());
  await client.post('/auth/logout', undefined, { cookie: again });
  expectRefusals();
  await field.press('Enter');
  await page.getByText('Your session has ended').waitFor();
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await button('Sign in').click();
  const ended =
    'Your session ended before the reply started. You will not be charged twice if you try again.';
  await log.getByText(ended).waitFor();
  expectRefusals(0);
  await page.reload();
  await log.getByText(ended).waitFor();
  t.equal(
    await page.getByText('API key').count(),
    0,
    'the page does not mention API keys, also after a reload',
  );
  await look(t, 'chat-session-ended-before');
  await button('Try again').click();
  await log.getByText('You said: And then I want to know').waitFor();
  t.same(complaints, [], 'no console errors');
});

t.test(
  'settings that were not saved because the session ended can be saved again',
  { skip: noDashboard },
  async (t) => {
    const {
      button,
      chats,
      client,
      complaints,
      context,
      cookie,
      dialog,
      email,
      expectRefusals,
      look,
      page,
      password,
      text,
    } = await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
    const log = page.getByRole('log');
    await page.route('**/api/v1/conversations/*', async (route) => {
      if (route.request().method() === 'PATCH') await client.post('/auth/logout', undefined, { cookie });
      await route.continue();
    });
    await button('Conversation settings').click();
    await dialog.getByLabel('Instructions').fill('Be brief.');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByLabel('Your message').fill('Hello');
    expectRefusals();
    await page.getByLabel('Your message').press('Enter');
    await page.getByText('Your session has ended').waitFor();
    await page.unroute('**/api/v1/conversations/*');
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await button('Sign in').click();
    const unsaved = text(
      'Your settings for this conversation were not saved and will not apply to new replies.',
    );
    const answer = page.locator('[role=log][aria-busy=false]').getByText('You said: Hello');
    await answer.waitFor();
    await unsaved.waitFor();
    expectRefusals(0);
    t.equal(await text('Your session ended before').count(), 0, 'the reply is complete');
    t.equal(await log.getByRole('article').count(), 2);
    await look(t, 'chat-settings-not-saved');
    await page.reload();
    await answer.waitFor();
    await unsaved.waitFor();
    await button('Save settings').click();
    await unsaved.waitFor({ state: 'detached' });
    const id = new URL(page.url()).pathname.split('/').at(-1);
    const { body } = await client.get(`/conversations/${id}`, { cookie: await cookieHeader(context) });
    t.equal(body.instructions, 'Be brief.');
    t.equal(chats.length, 1, 'the message is sent once');
    t.same(complaints, []);
  },
);

t.test('a reply that is cut off stays, and a retry is a new request', { skip: noDashboard }, async (t) => {
  const { button, chats, complaints, context, page, text } = await startDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
  });
  const field = page.getByLabel('Your message');
  await text('8 of 8 replies left today').waitFor();
  await upstream.configure({ chunks: 20, chunkIntervalMs: 50, fault: 'cut', faultAfter: 3 });
  await field.fill('Hello');
  await field.press('Enter');
  await text('Trying again sends a new request, which is charged separately.').waitFor();
  await button('Copy reply').click();
  t.match(await clipboardText(context, page), /0xx 1xx 2xx/);
  const [reason] = await page.getByRole('alert').allTextContents();
  await page.reload();
  await text('0xx 1xx 2xx').waitFor();
  t.same(await page.getByRole('alert').allTextContents(), [reason], 'the error is the same after a reload');
  await text('Trying again sends a new request, which is charged separately.').waitFor();
  await upstream.configure({});
  await button('Try again').click();
  await page.getByRole('log').getByText('You said: Hello').waitFor();
  t.equal(chats.length, 2);
  t.not(chats[1], chats[0], 'the retry has a new idempotency key, because the old one has a result');
  await text('6 of 8 replies left today').waitFor();
  t.same(complaints, []);
});

t.test('the reason for a refused message is shown after a reload too', { skip: noDashboard }, async (t) => {
  const { complaints, expectRefusals, look, page, text } = await startDashboard(t, '/chat', {
    CHAT_URL: upstream.url,
  });
  await text('8 of 8 replies left today').waitFor();
  await upstream.configure({ fault: 'status', status: 400, code: 'context_length_exceeded' });
  await page.getByLabel('Your message').fill('Hello');
  expectRefusals(1);
  await page.getByLabel('Your message').press('Enter');
  const reason = text(/^The conversation is too long for this model. Shorten your message, start a new chat/);
  await reason.waitFor();
  await page.reload();
  await reason.waitFor();
  await look(t, 'chat-too-long');
  t.same(complaints, []);
});

t.test('a message and a partial reply survive a lost network', { skip: noDashboard }, async (t) => {
  const { button, complaints, chats, context, cutChats, expectRefusals, look, page, text } =
    await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  await text('replies left today').waitFor();
  await context.setOffline(true);
  await text('You are offline').first().waitFor();
  await field.fill('Is anybody there?');
  expectRefusals();
  await field.press('Enter');
  await page.getByRole('alert').getByText('You are offline. Connect to a network, then try again.').waitFor();
  t.equal(await log.getByText('Is anybody there?').count(), 1, 'the message is still shown');
  await field.fill('And another thing');
  await look(t, 'chat-offline');
  await context.setOffline(false);
  await button('Try again').click();
  await log.getByText('You said: Is anybody there?').waitFor();
  await page.locator('[role=log][aria-busy=false]').waitFor();
  t.equal(await field.inputValue(), 'And another thing', 'the draft is kept');
  t.equal(chats.length, 1);

  await upstream.configure(slow);
  await field.press('Enter');
  await log.getByText('0xxx').waitFor();
  await field.fill('A draft');
  await context.setOffline(true);
  // A browser that is set offline keeps its open connections.
  cutChats();
  await log.getByText('You are offline. Connect to a network, then try again.').waitFor();
  await look(t, 'chat-offline-streaming');
  t.equal(await log.getByText('0xxx').count(), 1, 'the partial reply stays');
  await context.setOffline(false);
  await upstream.configure({});
  await button('Try again').click();
  await log.getByText('119x').waitFor();
  expectRefusals(0);
  t.equal(await field.inputValue(), 'A draft');
  t.equal(
    chats.at(-1),
    chats.at(-2),
    'the retry has the same idempotency key, so the message is charged once',
  );
  await text('6 of 8 replies left today').waitFor();

  // A page whose code is not loaded yet.
  await context.setOffline(true);
  await text('You are offline').first().waitFor();
  const loads = countLoads(page);
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Plan' }).click();
  await page.getByRole('heading', { level: 1, name: 'This page could not be displayed' }).waitFor();
  await page.evaluate(manyFrames);
  t.ok(loads() <= MAX_LOADS, `${loads()} requests for the code of the page`);
  const offline = complaints.splice(0);
  t.ok(
    offline.every((one) => /^PageLoadError|net::ERR_INTERNET_DISCONNECTED/.test(one)),
    offline.join(),
  );
  await context.setOffline(false);
  await page.getByRole('heading', { level: 1, name: 'Plan' }).waitFor();
  t.same(complaints, [], 'no console errors');
});

t.test(
  'a page whose code cannot be loaded shows an error after one attempt',
  { skip: noDashboard },
  async (t) => {
    const { button, complaints, expectRefusals, look, page, setBetween, text } = await startDashboard(
      t,
      '/chat',
      { CHAT_URL: upstream.url },
    );
    const heading = (name: string) => page.getByRole('heading', { level: 1, name });
    const open = (name: string) =>
      page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
    await text('replies left today').waitFor();

    setBetween({ breaks: '/assets/' });
    expectRefusals(MAX_LOADS);
    const broken = countLoads(page);
    await open('Plan');
    await heading('This page could not be displayed').waitFor();
    await text('This page could not be loaded.').waitFor();
    await page.evaluate(manyFrames);
    t.ok(broken() <= MAX_LOADS, `${broken()} requests for a file that fails to load`);
    await look(t, 'page-not-loaded');
    setBetween({});
    await button('Try again').click();
    await heading('Plan').waitFor();

    setBetween({ isUpdated: true });
    expectRefusals(MAX_LOADS);
    const gone = countLoads(page);
    await open('Usage');
    await text('Parley was updated after you opened this tab.').waitFor();
    t.equal(await button('Try again').count(), 0, 'no retry is offered, because the file no longer exists');
    await page.evaluate(manyFrames);
    t.ok(gone() <= MAX_LOADS, `${gone()} requests for a file that no longer exists`);
    await look(t, 'page-updated');
    setBetween({});
    await button('Reload').click();
    await heading('Usage').waitFor();
    const complained = complaints.filter((one) => !one.startsWith('PageLoadError'));
    t.same(complained, [], 'no other console errors');
  },
);

t.test('the chat says when the rate limit allows the next message', { skip: noDashboard }, async (t) => {
  const { button, client, complaints, cookie, expectRefusals, look, page, text } = await startDashboard(
    t,
    '/chat',
    { CHAT_URL: upstream.url, PLANS_FILE: fewChats(t, 50, 1000, 2) },
  );
  const field = page.getByLabel('Your message');
  const log = page.getByRole('log');
  await text('replies left today').waitFor();
  for (let time = 0; time < 2; time += 1) await client.post('/search', { query: 'keys' }, { cookie });
  await field.fill('Too soon?');
  expectRefusals(1);
  await field.press('Enter');
  await page
    .getByRole('alert')
    .getByText("You have reached your plan's limit of 2 requests a minute")
    .waitFor();
  const seconds = Number(
    /try again in (\d+) s/.exec((await page.getByRole('alert').textContent()) ?? '')?.[1],
  );
  t.ok(seconds > 0 && seconds <= 60, `${seconds} s`);
  await look(t, 'chat-rate-limited');
  await text('You can try again now.').waitFor({ timeout: 70_000 });
  await button('Try again').click();
  await log.getByText('You said: Too soon?').waitFor();
  await text('49 of 50 replies left today').waitFor();
  t.same(complaints, [], 'no console errors');
});

t.test('the chat does not say to wait if waiting does not help', { skip: noDashboard }, async (t) => {
  const file = join(t.testdir(), 'plans.json');
  const data = [
    plan('free', 'Free', 0, { tokens: 100 }, 1000),
    plan('plus', 'Plus', 1000, { chat: 0 }, 1000),
  ];
  writeFileSync(file, JSON.stringify({ data }));
  const { client, complaints, cookie, expectRefusals, look, page, text } = await startDashboard(t, '/chat', {
    BILLING: 'open',
    CHAT_URL: upstream.url,
    PLANS_FILE: file,
  });
  const field = page.getByLabel('Your message');
  const tooLarge = page
    .getByRole('alert')
    .getByText('This message can use more than your plan allows in a day.');
  await field.fill('Too large?');
  expectRefusals(1);
  await field.press('Enter');
  await tooLarge.waitFor();
  await page.reload();
  await tooLarge.waitFor();
  await look(t, 'chat-too-large');

  t.equal(
    (await client.put('/subscription', { plan: 'plus', billing_period: 'monthly' }, { cookie })).status,
    200,
  );
  await page.reload();
  await text('Your plan does not include chat').waitFor();
  t.equal(await text("You have used all 0 of today's replies").count(), 0);
  await look(t, 'chat-not-included');
  t.same(complaints, [], 'no console errors');
});

t.test('the selected model replies and is remembered', { skip: noDashboard }, async (t) => {
  const { complaints, look, page } = await startDashboard(t, '/chat', { CHAT_URL: upstream.url });
  const field = page.getByLabel('Your message');
  const model = page.getByLabel('Model');
  t.equal(await model.inputValue(), MODEL, 'the default model is selected first');
  t.same(await model.locator('option').allTextContents(), [MODEL, `${MODEL}-small`]);
  await model.selectOption(`${MODEL}-small`);
  await field.fill('Hello');
  await field.press('Enter');
  await page.locator('[role=log][aria-busy=false]').getByText('You said: Hello').waitFor();
  const [asked] = (await upstream.calls()).last.filter(({ method }) => method === 'POST');
  t.match(asked?.body, { model: `${MODEL}-small` });
  await look(t, 'chat-models');
  await page.goto(`${HOME}/chat`);
  await model.waitFor();
  t.equal(await model.inputValue(), `${MODEL}-small`, 'the selection is remembered');
  t.same(complaints, [], 'no console errors');
});
