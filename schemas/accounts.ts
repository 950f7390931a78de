/** Accounts, sign-up, and sign-in: contract section 9. */
import { Type } from '@sinclair/typebox';
import { documentedPattern, ref, Timestamp, Uuid } from './common.ts';
import { BillingPeriod } from './plans.ts';

/** The addresses that `format` accepts in this service. Other validators differ. */
const address =
  /^[0-9A-Za-z_!#$%&'*+/=?^`{|}~-]+(?:\.[0-9A-Za-z_!#$%&'*+/=?^`{|}~-]+)*@(?:[0-9A-Za-z](?:[0-9A-Za-z-]*[0-9A-Za-z])?\.)+[0-9A-Za-z](?:[0-9A-Za-z-]*[0-9A-Za-z])?$/;
const email = Type.String({
  ...documentedPattern(address),
  format: 'email',
  minLength: 3,
  maxLength: 254,
  description: 'Email address, case-insensitive.',
  examples: ['ada@example.com'],
});
const newPassword = Type.String({
  minLength: 8,
  maxLength: 256,
  description: '8 to 256 characters. Common passwords and passwords based on the email address are rejected.',
  examples: ['correct horse battery'],
});
/** For comparison only, so it accepts any length that was ever allowed. */
const givenPassword = (description: string) =>
  Type.String({ minLength: 1, maxLength: 256, description, examples: ['correct horse battery'] });

export const Account = Type.Object(
  {
    id: Uuid("The account's ID."),
    email,
    plan: Type.String({ maxLength: 40, description: "The account's plan.", examples: ['free'] }),
    billing_period: ref(BillingPeriod),
    created_at: Timestamp('When the account was created.'),
    is_operator: Type.Optional(
      Type.Boolean({
        description: 'Whether the account may use the operator endpoints. Omitted if not.',
        examples: [true],
      }),
    ),
  },
  { $id: 'Account', additionalProperties: false, description: 'The signed-in account.' },
);

export const SignUp = Type.Object(
  { email, password: newPassword },
  { $id: 'SignUp', additionalProperties: false, description: 'The credentials of the new account.' },
);

export const LogIn = Type.Object(
  {
    email: Type.String({
      minLength: 1,
      maxLength: 254,
      description: 'Email address.',
      examples: ['ada@example.com'],
    }),
    password: givenPassword('The password.'),
  },
  { $id: 'LogIn', additionalProperties: false, description: 'The credentials to sign in with.' },
);

export const UpdateAccount = Type.Object(
  { email, current_password: givenPassword('The current password, to confirm the change.') },
  { $id: 'UpdateAccount', additionalProperties: false, description: 'The new email address.' },
);

export const DeleteAccount = Type.Object(
  { current_password: givenPassword('The current password, to confirm the change.') },
  {
    $id: 'DeleteAccount',
    additionalProperties: false,
    description: 'Confirms that the owner wants to delete the account.',
  },
);

export const ChangePassword = Type.Object(
  { current_password: givenPassword('The current password.'), new_password: newPassword },
  { $id: 'ChangePassword', additionalProperties: false, description: 'The current and new passwords.' },
);
