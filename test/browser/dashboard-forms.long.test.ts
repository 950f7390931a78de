// Forms explain an invalid value in plain language, next to the field.
import type { Locator } from 'playwright-core';
import t from 'tap';
import { HOME, noDashboard, startDashboard } from '../support/dashboard-pages.ts';

t.setTimeout(1_800_000);

t.test('forms say how to correct invalid input', { skip: noDashboard }, async (t) => {
  const {
    button,
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
  } = await startDashboard(t, '/settings');
  const alerts = async () => (await page.getByRole('alert').allTextContents()).join('\n');
  const ofSchema = /In the body|The body|must match|must have|must be a valid/;

  await t.test('an email address that the API refuses is marked and explained', async (t) => {
    await button('Change email address').click();
    await dialog.getByLabel('New email address').fill('ada@localhost');
    await dialog.getByLabel('Current password').fill(password);
    expectRefusals(1);
    await dialog.getByRole('button', { name: 'Change email address' }).click();
    await text('Enter an email address, such as ada@example.com.').waitFor();
    t.notMatch(await alerts(), ofSchema);
    t.equal(await dialog.getByLabel('New email address').getAttribute('aria-invalid'), 'true');
    await look(t, 'form-email-refused');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  let sent = 0;
  page.on('request', (request) => {
    if (!['GET', 'HEAD'].includes(request.method())) sent += 1;
  });
  const speak = async (language: 'en' | 'de') => {
    await page.evaluate(`localStorage.setItem('parley.language', '${language}')`);
    await page.reload();
  };

  await t.test('dialogs say what to enter, and send no request until the input is valid', async (t) => {
    const before = sent;
    const close = async () => {
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    };
    await button('Change email address').click();
    await dialog.getByLabel('New email address').fill('ada');
    await dialog.getByRole('button', { name: 'Change email address' }).click();
    await dialog.getByText('Enter an email address, such as ada@example.com.').waitFor();
    await dialog.getByText('Enter your current password.').waitFor();
    t.equal(
      await page.evaluate('document.activeElement.name'),
      'email',
      'the first invalid field has the focus',
    );
    await look(t, 'form-email-invalid');
    await close();
    await button('Change password').click();
    await dialog.getByLabel('New password').fill('short');
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await dialog.getByText('Enter your current password.').waitFor();
    await dialog.getByText('Enter a password of 8 to 256 characters.').waitFor();
    await dialog.getByLabel('Current password').fill(password);
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await dialog.getByText('Enter your current password.').waitFor({ state: 'detached' });
    t.equal(await page.evaluate('document.activeElement.name'), 'new_password');
    await close();
    await button('Set up a webhook').click();
    await dialog.getByLabel('URL').fill('hooks.example.com');
    await dialog.getByRole('button', { name: 'Set up webhook' }).click();
    await dialog.getByText('Enter an https URL, such as https://hooks.example.com/parley.').waitFor();
    await close();
    await button('Delete account').click();
    await dialog.getByLabel('To confirm, type').fill(email);
    await dialog.getByRole('button', { name: 'Delete account' }).click();
    await dialog.getByText('Enter your current password.').waitFor();
    await close();
    t.equal(sent, before);
  });

  await t.test('a refused new password shows the rule that it breaks, also in German', async (t) => {
    for (const [language, open, change, labels, sentences] of [
      [
        'en',
        'Change password',
        'Change password',
        ['Current password', 'New password'],
        [/^This password is too common\./, /^The new password must be different from the current one\.$/],
      ],
      [
        'de',
        'Passwort ändern',
        'Passwort ändern',
        ['Aktuelles Passwort', 'Neues Passwort'],
        [
          /^Dieses Passwort ist zu verbreitet\./,
          /^Das neue Passwort muss sich vom aktuellen unterscheiden\.$/,
        ],
      ],
    ] as const) {
      await speak(language);
      await button(open).click();
      await dialog.getByLabel(labels[0]).fill(password);
      for (const [refused, sentence] of [
        ['password123', sentences[0]],
        [password, sentences[1]],
      ] as const) {
        await dialog.getByLabel(labels[1]).fill(refused);
        expectRefusals(1);
        await dialog.getByRole('button', { name: change }).click();
        await dialog.getByText(sentence).waitFor();
        t.equal(await dialog.getByLabel(labels[1]).getAttribute('aria-invalid'), 'true');
      }
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    }
    await speak('en');
  });

  await t.test('a webhook URL that the API refuses is explained in German', async () => {
    await speak('de');
    await button('Webhook einrichten').click();
    await dialog.getByLabel('Adresse').fill('https://localhost/hook');
    expectRefusals(1);
    await dialog.getByRole('button', { name: 'Webhook einrichten' }).click();
    await dialog.getByText(/^Diese URL führt zu einer privaten Adresse/).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await speak('en');
  });

  await t.test('a key needs a name, and a date in the future if it expires', async (t) => {
    await page.goto(`${HOME}/your-api`);
    await page.setViewportSize({ width: 1440, height: 620 });
    await button('Create key').first().click();
    const create = dialog.getByRole('button', { name: 'Create key' });
    const { height = 0, y = 620 } = (await create.boundingBox()) ?? {};
    t.ok(y + height < 620, 'the button is on the screen');
    await create.click();
    await text('Enter a name of 1 to 100 characters.').waitFor();
    t.equal(await page.getByLabel('Name').getAttribute('aria-invalid'), 'true');
    await page.getByLabel('Name').fill('Website');
    await page.getByText('Expiry and allowed origins').click();
    await page.getByLabel('Expires').selectOption('On a specific date');
    await create.click();
    await text('Choose a date in the future.').waitFor();
    t.equal(await page.evaluate('document.activeElement.type'), 'date');
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
    for (const date of ['2020-02-29', '12026-01-01']) {
      await page.locator('input[type=date]').fill(date);
      await create.click();
      await text('Choose a date in the future.').waitFor();
    }
    await page.evaluate(`fetch('/api/v1/service').then((response) => response.text())`);
    t.same(sent, ['GET /api/v1/service'], 'an invalid date is not sent');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('the form suggests the origin of a pasted URL, if there is one', async (t) => {
    await page.goto(`${HOME}/your-api`);
    await button('Create key').first().click();
    await page.getByLabel('Name').fill('Website');
    await page.getByText('Expiry and allowed origins').click();
    const field = page.getByLabel('Add an origin');
    const rightOf = async (one: Locator) => {
      const { width = 0, x = 0 } = (await one.boundingBox()) ?? {};
      return x + width;
    };
    t.ok(
      (await rightOf(field)) - (await rightOf(button('Add'))) < 10,
      'the button is aligned with the end of the field',
    );
    const add = async (typed: string) => {
      await field.fill(typed);
      await field.press('Enter');
    };
    const list = dialog.getByRole('list', { name: 'Allowed origins' });
    await add('https://one.example.com/');
    await list.getByText('https://one.example.com', { exact: true }).waitFor();
    for (const [typed, origin] of [
      ['https://two.example.com/app/index.html?a=1', 'https://two.example.com'],
      ['three.example.com', 'https://three.example.com'],
      ['http://four.example.com:8080/', 'https://four.example.com:8080'],
    ] as const) {
      await add(typed);
      await button(`Use ${origin}`).waitFor();
      if (typed === 'three.example.com') await look(t, 'form-origin-suggested');
      if (typed.includes('/app/')) await dialog.getByText(/^Leave out the path\./).waitFor();
      await button(`Use ${origin}`).click();
      await list.getByText(origin, { exact: true }).waitFor();
      t.equal(await field.inputValue(), '');
    }
    for (const typed of ['http://localhost:5173', 'not an origin']) {
      await add(typed);
      await dialog.getByRole('alert').waitFor();
      t.equal(await button(/^Use https/).count(), 0, typed);
    }
    await field.fill('');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Copy the key now').waitFor();
    await button('Copy key').first().click();
    await button('Done').click();
    await dialog.waitFor({ state: 'detached' });
  });

  await t.test(
    'an invalid origin is explained in German, both before the key is created and by the API',
    async () => {
      await client.createKey({ cookie }, { name: 'Server' });
      await speak('de');
      await button('Schlüssel erstellen').first().click();
      await page.getByText('Ablauf und erlaubte Origins').click();
      const refuses = async (typed: string, sentence: RegExp) => {
        await page.getByLabel('Origin hinzufügen').fill(typed);
        await page.getByLabel('Origin hinzufügen').press('Enter');
        await dialog.getByText(sentence).waitFor();
      };
      await refuses('https://app.example.com/path', /^Lassen Sie den Pfad weg\./);
      await refuses('http://localhost:5173', /Lassen Sie während der Entwicklung den Dev-Server/);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await button('Origins von Server bearbeiten').click();
      expectRefusals(2);
      await refuses('https://app.example.com/path', /^Lassen Sie den Pfad weg\./);
      await refuses('https://*.example.com', /^Lassen Sie den Platzhalter weg/);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await speak('en');
    },
  );

  await t.test('signing in without a password sends nothing', async (t) => {
    await context.clearCookies();
    expectRefusals();
    await page.goto(`${HOME}/your-api`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const before = sent;
    for (const [language, action, sentence] of [
      ['English', 'Sign in', 'Enter your password.'],
      ['Deutsch', 'Anmelden', 'Geben Sie Ihr Passwort ein.'],
    ] as const) {
      await page.getByLabel(/^(Language|Sprache)$/).selectOption(language);
      await page.locator('input[name=email]').fill(email);
      await button(action).click();
      await text(sentence).waitFor();
      t.equal(await page.evaluate('document.activeElement.name'), 'password');
    }
    t.equal(sent, before, 'nothing is sent');
    await page.getByLabel('Sprache').selectOption('English');
  });

  await t.test('signing up with an invalid address and a short password sends nothing', async (t) => {
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByRole('heading', { name: 'Create an account' }).waitFor();
    expectRefusals(0);
    const before = sent;
    await page.getByLabel('Email address').fill('nobody');
    await page.getByLabel('Password', { exact: true }).fill('short');
    await button('Sign up').click();
    await text('Enter an email address, such as ada@example.com.').waitFor();
    await text('Enter a password of 8 to 256 characters.').waitFor();
    t.equal(sent, before, 'nothing is sent');
    await look(t, 'form-sign-up');
  });

  await t.test('a refused password at sign-up shows the rule that it breaks', async (t) => {
    await page.getByLabel('Email address').fill('grace.hopper@navy.example');
    for (const [refused, sentence] of [
      ['password123', /^This password is too common\. Choose a different one/],
      ['zzzzzzzzzz', /^This password repeats a single character\./],
      ['grace.hopper1906', /^This password is based on your email address\./],
      ['        ', /^This password is blank\./],
    ] as const) {
      await page.getByLabel('Password', { exact: true }).fill(refused);
      expectRefusals(1);
      await button('Sign up').click();
      await text(sentence).waitFor();
    }
    t.equal(await text('Enter a password of 8').count(), 0);
    await look(t, 'form-sign-up-refused');
    await page.getByLabel('Language').selectOption('Deutsch');
    await page.getByLabel('E-Mail-Adresse').fill('grace.hopper@navy.example');
    await page.getByLabel('Passwort', { exact: true }).fill('password123');
    expectRefusals(1);
    await button('Registrieren').click();
    await text(/^Dieses Passwort ist zu verbreitet\. Wählen Sie ein anderes/).waitFor();
    t.notMatch(await alerts(), /password/);
  });
  t.same(complaints, []);
});
