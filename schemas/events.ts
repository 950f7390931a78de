/** The account's audit trail. Contract section 1. */

/** What the audit trail tells of. */
export const accountEventTypes = [
  'accountCreated',
  'signedIn',
  'signInFailed',
  'signedOut',
  'sessionEnded',
  'passwordChanged',
  'passwordReset',
  'emailChanged',
  'keyCreated',
  'keyRotated',
  'keyRevoked',
  'keyReportedLeaked',
  'originsChanged',
  'planChanged',
] as const;
export type AccountEventType = (typeof accountEventTypes)[number];
