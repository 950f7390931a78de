import type { ComponentType } from 'react';
import type { PagePath } from './paths.ts';
import { loadedPage } from './shell/loaded-page.tsx';
import type { TextKey } from './texts/language.ts';
import { ChatIcon, KeyIcon, OperatorIcon, PlanIcon, SettingsIcon, UsageIcon } from './ui/icons.tsx';

export type Page = {
  path: PagePath;
  pattern?: string;
  Component: ComponentType;
  nav?: { label: Extract<TextKey, `shell.nav.${string}`>; Icon: ComponentType; isForOperators?: boolean };
};

export const pages: readonly Page[] = [
  {
    path: '/chat',
    pattern: '/chat/:id?',
    Component: loadedPage(() => import('./pages/chat/index.tsx')),
    nav: { label: 'shell.nav.chat', Icon: ChatIcon },
  },
  {
    path: '/your-api',
    Component: loadedPage(() => import('./pages/your-api/index.tsx')),
    nav: { label: 'shell.nav.yourApi', Icon: KeyIcon },
  },
  {
    path: '/usage',
    Component: loadedPage(() => import('./pages/usage/index.tsx')),
    nav: { label: 'shell.nav.usage', Icon: UsageIcon },
  },
  {
    path: '/plan',
    Component: loadedPage(() => import('./pages/plan/index.tsx')),
    nav: { label: 'shell.nav.plan', Icon: PlanIcon },
  },
  {
    path: '/settings',
    Component: loadedPage(() => import('./pages/settings/index.tsx')),
    nav: { label: 'shell.nav.settings', Icon: SettingsIcon },
  },
  {
    path: '/operator',
    Component: loadedPage(() => import('./pages/operator/index.tsx')),
    nav: { label: 'shell.nav.operator', Icon: OperatorIcon, isForOperators: true },
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
