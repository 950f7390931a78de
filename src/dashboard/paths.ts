/**
 * The paths of all dashboard pages. The service answers each one with the same HTML page (`src/routes/dashboard.ts`).
 * `routes.tsx` decides what it shows.
 */
export const pagePaths = [
  '/',
  '/sign-in',
  '/sign-up',
  '/chat',
  '/chat/:id',
  '/your-api',
  '/usage',
  '/plan',
  '/settings',
  '/operator',
  '/operator/accounts',
  '/operator/accounts/:id',
  '/operator/log',
] as const;

export type PagePath = (typeof pagePaths)[number];
