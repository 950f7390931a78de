/**
 * The paths of all dashboard pages. The service returns the same HTML page for each of them
 * (`src/routes/dashboard.ts`). `routes.tsx` selects the component.
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
