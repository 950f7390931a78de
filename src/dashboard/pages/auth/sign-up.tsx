import { Anchor, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useSearch } from 'wouter';
import { api, ok } from '../../api/client.ts';
import { signedIn, useService } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
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

  const heading = usePageTitle(t('auth.signUp.pageTitle'));

  const signIn = t.rich('auth.signUp.signIn', {
    link: (chunks) => (
      <Anchor component={Link} href={search === '' ? '/sign-in' : `/sign-in?${search}`} underline="always">
        {chunks}
      </Anchor>
    ),
  });
  return (
    <>
      <Title order={1} ref={heading} tabIndex={-1}>
        {t('auth.signUp.title')}
      </Title>
      <Text c="dimmed" mt={6} mb="lg">
        {t('auth.signUp.about')}
      </Text>
      <Loaded query={service}>
        {({ operator_contact: contact, signups }) =>
          signups === 'open' ? (
            <>
              <CredentialsForm
                isNew
                action={t('auth.signUp.action')}
                isPending={signUp.isPending}
                error={signUp.error}
                onSubmit={signUp.mutate}
              />
              <Text mt="lg" size="sm">
                {signIn}
              </Text>
              {contact !== null && (
                <Text mt="sm" size="sm" c="dimmed">
                  {t.rich('auth.signUp.runBy', { contact: () => <Operator contact={contact} /> })}
                </Text>
              )}
            </>
          ) : (
            <>
              <Text>
                {contact === null
                  ? t('auth.signUp.closed')
                  : t.rich('auth.signUp.closedContact', { contact: () => <Operator contact={contact} /> })}
              </Text>
              <Text mt="md">{signIn}</Text>
            </>
          )
        }
      </Loaded>
    </>
  );
}
