import type { Schemas } from '../../api/client.ts';

type AccountEvent = Schemas['AccountEvent'];

const sentences: Record<AccountEvent['type'], string> = {
  accountCreated: 'Account created',
  signedIn: 'Signed in',
  signInFailed: 'Failed sign-in',
  signedOut: 'Signed out',
  sessionEnded: 'Session ended from another device',
  passwordChanged: 'Password changed',
  passwordReset: 'Password reset by the operator',
  emailChanged: 'Email address changed',
  keyCreated: 'Key created',
  keyRotated: 'Key rotated',
  keyRevoked: 'Key revoked',
  keyReportedLeaked: 'Key reported as leaked, and revoked',
  publicKeyReported: 'Browser key reported as leaked; it still works because it is public',
  originsChanged: 'Allowed origins changed',
  previousSecretEnded: 'Old secret of a key ended',
  planChanged: 'Plan changed',
  accountSuspended: 'Account suspended by the operator',
  accountResumed: 'Account resumed by the operator',
};

/** The service can add types that this page does not know. */
export const eventSentence = ({ type }: AccountEvent): string => sentences[type] ?? type;
