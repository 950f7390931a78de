/** The navigation that the dashboard and the documentation share. The names are keys of the texts in `shell.nav`. */
import type { PagePath } from './paths.ts';

export const sections = [
  { path: '/chat', name: 'chat' },
  { path: '/your-api', name: 'yourApi' },
  { path: '/usage', name: 'usage' },
  { path: '/plan', name: 'plan' },
  { path: '/settings', name: 'settings' },
  { path: '/operator', name: 'operator', isForOperators: true },
] as const satisfies { path: PagePath; name: string; isForOperators?: true }[];

export const docsSections = [
  { path: '/docs/guides', name: 'docs' },
  { path: '/docs', name: 'reference' },
] as const;

export type SectionName = (typeof sections | typeof docsSections)[number]['name'];

/** The path of each icon, 24 units wide and high. */
export const drawings: Readonly<Record<SectionName, string>> = {
  chat: 'M5 4h14a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2z',
  yourApi: 'M12.25 15a4.25 4.25 0 1 1-8.5 0 4.25 4.25 0 0 1 8.5 0zM11 12 20 3M16 7l3 3M13.5 9.5l2 2',
  usage: 'M4 20h16M6.5 16v-5M12 16V5M17.5 16V9',
  plan: 'M5 5h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM3 10h18M7 15h3',
  settings:
    'M4 7h9M19 7h1M4 17h1M11 17h9M18.5 7a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM10.5 17a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z',
  operator: 'M12 3 4.5 6v5.5c0 4.5 3.1 8 7.5 9.5 4.4-1.5 7.5-5 7.5-9.5V6zM9 12l2.2 2.2L15.5 10',
  docs: 'M5 4h10a4 4 0 0 1 4 4v12H8a3 3 0 0 1-3-3V4zM5 17a3 3 0 0 1 3-3h11',
  reference: 'M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14',
};
