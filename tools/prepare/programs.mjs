/** What people start, and what runs in a thread of its own. */
export const programs = [
  'main',
  'bodies/worker',
  'commands/audit',
  'commands/parley',
  'commands/reset-password',
  'commands/set-plan',
  'database/embedded-thread',
];
