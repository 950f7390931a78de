// The main walk through the dashboard, in a real browser under its strict content security policy.
// walk.long.test.ts runs the other variants.
import t from 'tap';
import { walkThrough } from '../support/dashboard-journey.ts';
import { noDashboard } from '../support/dashboard-pages.ts';
import { variants } from '../support/dashboard-walk.ts';

t.setTimeout(300_000);

t.test('every step of the main walk works, 1280 × 800, light', { skip: noDashboard }, (t) =>
  walkThrough(t, variants[0]),
);
