import type { ComponentType } from 'react';
import type { PagePath } from './paths.ts';
import { loadedPage } from './shell/loaded-page.tsx';
import { ChatIcon, KeyIcon, OperatorIcon, PlanIcon, SettingsIcon, UsageIcon } from './ui/icons.tsx';

export type Page = {
  path: PagePath;
  pattern?: string;
  Component: ComponentType;
  nav?: { label: string; Icon: ComponentType; isForOperators?: boolean };
};

export const pages: readonly Page[] = [
  {
    path: '/chat',
    pattern: '/chat/:id?',
    Component: loadedPage(() => import('./pages/chat/index.tsx')),
    nav: { label: 'Chat', Icon: ChatIcon },
  },
  {
    path: '/your-api',
    Component: loadedPage(() => import('./pages/your-api/index.tsx')),
    nav: { label: 'Your API', Icon: KeyIcon },
  },
  {
    path: '/usage',
    Component: loadedPage(() => import('./pages/usage/index.tsx')),
    nav: { label: 'Usage', Icon: UsageIcon },
  },
  {
    path: '/plan',
    Component: loadedPage(() => import('./pages/plan/index.tsx')),
    nav: { label: 'Plan', Icon: PlanIcon },
  },
  {
    path: '/settings',
    Component: loadedPage(() => import('./pages/settings/index.tsx')),
    nav: { label: 'Settings', Icon: SettingsIcon },
  },
  {
    path: '/operator',
    Component: loadedPage(() => import('./pages/operator/index.tsx')),
    nav: { label: 'Operator', Icon: OperatorIcon, isForOperators: true },
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
