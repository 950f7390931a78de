import { Alert, Anchor, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useSearch } from 'wouter';
import { useHistoryState } from 'wouter/use-browser-location';
import { api, ok } from '../../api/client.ts';
import { signedIn, useService } from '../../api/queries.ts';
import { useSessionState, wasLeftElsewhere } from '../../api/session.ts';
import { t } from '../../texts/language.ts';
import { InfoIcon } from '../../ui/icons.tsx';
import { type Credentials, CredentialsForm } from './credentials-form.tsx';
import { Operator } from './operator.tsx';
import { usePageTitle } from './page-title.ts';

export function SignIn() {
  const search = useSearch();
  const session = useSessionState();
  const status = useHistoryState<{ status?: string } | null>()?.status;
  const { data: service } = useService();
  const contact = service?.operator_contact ?? null;
  const signIn = useMutation({
    mutationFn: (body: Credentials) => ok(api.POST('/api/v1/auth/login', { body })),
    onSuccess: signedIn,
  });

  const heading = usePageTitle(t('auth.signIn.title'));

  return (
    <>
      <Title order={1} mb="lg" ref={heading} tabIndex={-1}>
        {t('auth.signIn.title')}
      </Title>
      {status !== undefined && (
        <Alert variant="light" icon={<InfoIcon />} mb="md" role="status">
          {status}
        </Alert>
      )}
      {session === 'ended' && (
        <Alert variant="light" icon={<InfoIcon />} mb="md">
          {t('auth.signIn.sessionEnded')}
        </Alert>
      )}
      {session === 'out' && wasLeftElsewhere() && (
        <Alert variant="light" icon={<InfoIcon />} mb="md">
          {t('auth.signIn.leftElsewhere')}
        </Alert>
      )}
      <CredentialsForm
        isNew={false}
        action={t('auth.signIn.action')}
        isPending={signIn.isPending}
        error={signIn.error}
        onSubmit={signIn.mutate}
      />
      {service?.signups === 'open' && (
        <Text mt="lg" size="sm">
          {t.rich('auth.signIn.signUp', {
            link: (chunks) => (
              <Anchor
                component={Link}
                href={search === '' ? '/sign-up' : `/sign-up?${search}`}
                underline="always"
              >
                {chunks}
              </Anchor>
            ),
          })}
        </Text>
      )}
      <Text mt="sm" size="sm" c="dimmed">
        {contact === null
          ? t('auth.signIn.forgotPassword')
          : t.rich('auth.signIn.forgotPasswordContact', { contact: () => <Operator contact={contact} /> })}
      </Text>
    </>
  );
}
