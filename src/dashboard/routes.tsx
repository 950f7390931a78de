import type { ComponentType } from 'react';
import type { PagePath } from './paths.ts';
import { forOperators } from './shell/for-operators.tsx';
import { loadedPage } from './shell/loaded-page.tsx';

/** Paths that `app.tsx` handles itself. */
type OtherPath = '/' | '/sign-in' | '/sign-up';

const components: Readonly<Record<Exclude<PagePath, OtherPath | '/chat/:id'>, ComponentType>> = {
  '/chat': loadedPage(() => import('./pages/chat/index.tsx')),
  '/your-api': loadedPage(() => import('./pages/your-api/index.tsx')),
  '/usage': loadedPage(() => import('./pages/usage/index.tsx')),
  '/plan': loadedPage(() => import('./pages/plan/index.tsx')),
  '/settings': loadedPage(() => import('./pages/settings/index.tsx')),
  '/operator': loadedPage(() => import('./pages/operator/index.tsx')),
  '/operator/accounts': loadedPage(() => import('./pages/operator/accounts.tsx')),
  '/operator/accounts/:id': loadedPage(() => import('./pages/operator/account.tsx')),
  '/operator/log': loadedPage(() => import('./pages/operator/log.tsx')),
};

export const pages = Object.entries(components).map(([path, Component]) => ({
  // One component with and without a conversation, so that it keeps its state when a conversation begins.
  path: path === '/chat' ? '/chat/:id?' : path,
  Component: path.startsWith('/operator') ? forOperators(Component) : Component,
}));

export const firstPage: PagePath = '/your-api';
