/** What is shown at which address. Pages beyond the first are loaded when they are opened. */
import { type ComponentType, lazy } from 'react';
import type { PagePath } from './paths.ts';
import { KeyIcon, SettingsIcon } from './ui/icons.tsx';

export type Page = {
  path: PagePath;
  Component: ComponentType;
  /** Its place in the navigation, in the order of `pages`. */
  nav?: { label: string; Icon: ComponentType };
};

/** For whoever is signed in. */
export const pages: readonly Page[] = [
  {
    path: '/your-api',
    Component: lazy(() => import('./pages/your-api/index.tsx')),
    nav: { label: 'Your API', Icon: KeyIcon },
  },
  {
    path: '/settings',
    Component: lazy(() => import('./pages/settings/index.tsx')),
    nav: { label: 'Settings', Icon: SettingsIcon },
  },
];

/** Where `/` leads. */
export const firstPage: PagePath = '/your-api';
