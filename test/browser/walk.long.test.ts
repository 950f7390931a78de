// The main walk at 1280 × 800 and 390 × 844, light and dark; walk.test.ts has the first of them.
import t from 'tap';
import { walkThrough } from '../support/dashboard-journey.ts';
import { noDashboard } from '../support/dashboard-pages.ts';
import { variants } from '../support/dashboard-walk.ts';

t.setTimeout(600_000);

for (const variant of variants)
  t.test(`the main walk, ${variant.size}, ${variant.scheme}`, { skip: noDashboard }, (t) =>
    walkThrough(t, variant),
  );
