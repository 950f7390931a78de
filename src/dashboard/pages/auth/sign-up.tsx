import { Anchor, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useSearch } from 'wouter';
import { api, ok } from '../../api/client.ts';
import { signedIn, useService } from '../../api/queries.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { type Credentials, CredentialsForm } from './credentials-form.tsx';
import { Operator } from './operator.tsx';
import { usePageTitle } from './page-title.ts';

export function SignUp() {
  const search = useSearch();
  const service = useService();
  const signUp = useMutation({
    mutationFn: (body: Credentials) => ok(api.POST('/api/v1/auth/signup', { body })),
    onSuccess: signedIn,
  });

  const heading = usePageTitle('Sign up');

  const signIn = (
    <Anchor component={Link} href={search === '' ? '/sign-in' : `/sign-in?${search}`} underline="always">
      Sign in
    </Anchor>
  );
  return (
    <>
      <Title order={1} ref={heading} tabIndex={-1}>
        Create an account
      </Title>
      <Text c="dimmed" mt={6} mb="lg">
        Chat here, or from your own apps with API keys.
      </Text>
      <Loaded query={service}>
        {({ operator_contact: contact, signups }) =>
          signups === 'open' ? (
            <>
              <CredentialsForm
                isNew
                action="Sign up"
                isPending={signUp.isPending}
                error={signUp.error}
                onSubmit={signUp.mutate}
              />
              <Text mt="lg" size="sm">
                Already have an account? {signIn}
              </Text>
              {contact !== null && (
                <Text mt="sm" size="sm" c="dimmed">
                  <Operator before="Run by " contact={contact} />
                </Text>
              )}
            </>
          ) : (
            <>
              <Text>
                Sign-ups are closed on this service. To get an account, ask its operator
                <Operator before=": " contact={contact} />.
              </Text>
              <Text mt="md">Already have an account? {signIn}</Text>
            </>
          )
        }
      </Loaded>
    </>
  );
}
