// The main walk on a wide screen and the documentation on a narrow one, in Firefox.
import t from 'tap';
import { walkThrough } from '../support/dashboard-journey.ts';
import { noDashboard } from '../support/dashboard-pages.ts';
import { walkThroughDocs } from '../support/docs-journey.ts';
import { noFirefox } from '../support/firefox.ts';

t.setTimeout(1_800_000);

const skip = noDashboard || noFirefox;

t.test('every step of the main walk works, wide, light', { skip }, (t) =>
  walkThrough(t, { size: 'wide', scheme: 'light' }, 'firefox'),
);

t.test('every step through the documentation works, narrow, dark', { skip }, (t) =>
  walkThroughDocs(t, { size: 'narrow', scheme: 'dark' }, 'firefox'),
);
