// Operators read the names of background jobs in their language, not those of the code.
import t from 'tap';
import { jobNames } from '../../src/jobs/maintenance.ts';

for (const language of ['en', 'de']) {
  t.test(`every background job has a text: ${language}`, async (t) => {
    // Not a literal, because the dashboard is compiled with the types of the DOM, and tests are not.
    const file = new URL(`../../src/dashboard/texts/${language}.ts`, import.meta.url).href;
    const { default: texts } = await import(file);
    t.same(Object.keys(texts.operator.jobs.names).sort(), [...jobNames].sort());
  });
}
