import { Account, ChangePassword, DeleteAccount, LogIn, SignUp, UpdateAccount } from '../accounts.ts';
import { AccountEventList } from '../events.ts';
import { SessionList } from '../sessions.ts';
import { at, example, ids, type OperationExamples } from './example.ts';

const email = 'ada@example.com';
const password = 'correct horse battery';
const account = {
  id: ids.account,
  email,
  plan: 'free',
  billing_period: 'monthly',
  created_at: at('09:30:00.000'),
} as const;

export const accountExamples: Record<string, OperationExamples> = {
  signUp: {
    requests: { account: example(SignUp, 'A new account', { email, password }) },
    responses: { account: example(Account, 'The account, on the first plan', account) },
  },
  logIn: {
    requests: { account: example(LogIn, 'Email address and password', { email, password }) },
    responses: { account: example(Account, 'The account', account) },
  },
  getAccount: { responses: { account: example(Account, 'The account', account) } },
  updateAccount: {
    requests: {
      email: example(UpdateAccount, 'A new address', {
        email: 'ada.lovelace@example.com',
        current_password: password,
      }),
    },
    responses: {
      account: example(Account, 'The account', { ...account, email: 'ada.lovelace@example.com' }),
    },
  },
  deleteAccount: {
    requests: {
      proof: example(DeleteAccount, 'Confirm with the current password', { current_password: password }),
    },
  },
  changePassword: {
    requests: {
      passwords: example(ChangePassword, 'Current and new passwords', {
        current_password: password,
        new_password: 'battery staple horse',
      }),
    },
  },
  listEvents: {
    responses: {
      newest: example(AccountEventList, 'A key was created after signing up', {
        data: [
          {
            id: '01932f60-0b80-7a41-9d3e-b2c3d4e5f6a7',
            at: at('09:31:42.845'),
            type: 'keyCreated',
            address: '192.0.2.7',
            user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
            key_id: ids.key,
            detail: 'Website',
          },
          {
            id: '01932f5e-7c1b-7b60-8c2d-c3d4e5f6a7b8',
            at: at('09:30:00.000'),
            type: 'accountCreated',
            address: '192.0.2.7',
            user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
            key_id: null,
            detail: null,
          },
        ],
        next_cursor: null,
      }),
    },
  },
  listSessions: {
    responses: {
      one: example(SessionList, 'One active session', {
        data: [
          {
            id: ids.session,
            current: true,
            created_at: at('09:30:00.000'),
            last_seen_at: at('13:00:00.000'),
            address: '192.0.2.7',
            user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
          },
        ],
      }),
    },
  },
};
