import type { ComponentType } from 'react';
import type { PagePath } from './paths.ts';
import { loadedPage } from './shell/loaded-page.tsx';

export type Page = {
  path: PagePath;
  pattern?: string;
  Component: ComponentType;
};

export const pages: readonly Page[] = [
  {
    path: '/chat',
    pattern: '/chat/:id?',
    Component: loadedPage(() => import('./pages/chat/index.tsx')),
  },
  {
    path: '/your-api',
    Component: loadedPage(() => import('./pages/your-api/index.tsx')),
  },
  {
    path: '/usage',
    Component: loadedPage(() => import('./pages/usage/index.tsx')),
  },
  {
    path: '/plan',
    Component: loadedPage(() => import('./pages/plan/index.tsx')),
  },
  {
    path: '/settings',
    Component: loadedPage(() => import('./pages/settings/index.tsx')),
  },
  {
    path: '/operator',
    Component: loadedPage(() => import('./pages/operator/index.tsx')),
  },
  {
    path: '/operator/accounts',
    Component: loadedPage(() => import('./pages/operator/accounts.tsx')),
  },
  {
    path: '/operator/accounts/:id',
    Component: loadedPage(() => import('./pages/operator/account.tsx')),
  },
  {
    path: '/operator/log',
    Component: loadedPage(() => import('./pages/operator/log.tsx')),
  },
];

export const firstPage: PagePath = '/your-api';
