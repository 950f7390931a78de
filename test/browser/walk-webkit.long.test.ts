// The main walk on a narrow screen and the documentation on a wide one, in WebKit, the engine of Safari.
import t from 'tap';
import { walkThrough } from '../support/dashboard-journey.ts';
import { noDashboard } from '../support/dashboard-pages.ts';
import { walkThroughDocs } from '../support/docs-journey.ts';
import { noWebKit } from '../support/webkit/programs.ts';

t.setTimeout(1_800_000);

const skip = noDashboard || noWebKit;

t.test('every step of the main walk works, narrow, dark', { skip }, (t) =>
  walkThrough(t, { size: 'narrow', scheme: 'dark' }, 'webkit'),
);

t.test('every step through the documentation works, wide, light', { skip }, (t) =>
  walkThroughDocs(t, { size: 'wide', scheme: 'light' }, 'webkit'),
);
