// A webhook message about a limit names the meter in the reader's language.
import t from 'tap';
import { meters } from '../../schemas/plans.ts';

// Computed paths, because the dashboard is compiled with DOM types, and tests are not.
const load = (file: string) => import(new URL(`../../src/dashboard/${file}`, import.meta.url).href);
const { deliveryTitle } = await load('pages/settings/webhook-sentences.ts');
const { loadLanguage } = await load('texts/language.ts');

Object.assign(globalThis, { document: { documentElement: {} } });
t.teardown(async () => {
  await loadLanguage('en');
  Reflect.deleteProperty(globalThis, 'document');
});

const data = { threshold: 80, used: 40, limit: 50 };
const titleFor = (meter: string): string =>
  deliveryTitle({ type: 'usage.threshold_reached', data: { ...data, meter } });

for (const [language, sentence] of [
  ['en', '80% of the daily limit used (METER: 40 of 50)'],
  ['de', '80\u00a0% des Tageslimits erreicht (METER: 40 von 50)'],
] as const)
  t.test(
    `80% of the limit of each meter, and of one that the dashboard does not know: ${language}`,
    async (t) => {
      await loadLanguage(language);
      const { default: texts } = await load(`texts/${language}.ts`);
      for (const meter of [...meters, 'tokens'])
        t.equal(titleFor(meter), sentence.replace('METER', texts.meters.label[meter]));
      t.equal(titleFor('videos'), sentence.replace('METER', 'videos'));
    },
  );
