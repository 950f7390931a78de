/**
 * Every address that is a page of the dashboard. The service answers each with the one page there is
 * (`src/routes/dashboard.ts`); what it then shows is in `routes.tsx`.
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
] as const;

export type PagePath = (typeof pagePaths)[number];
