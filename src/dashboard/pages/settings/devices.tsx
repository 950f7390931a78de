import { Badge, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Panel } from '../../ui/panel.tsx';
import { When } from '../../ui/when.tsx';
import classes from './settings.module.css';
import { deviceName } from './user-agent.ts';

type Session = Schemas['Session'];

export function DevicesPanel() {
  const [ending, setEnding] = useState<Session>();
  const query = useQuery({
    queryKey: ['sessions'],
    queryFn: async ({ signal }) => (await ok(api.GET('/api/v1/sessions', { signal }))).data,
  });
  return (
    <Panel title={t('settings.devices.title')} description={t('settings.devices.about')}>
      <Loaded query={query}>
        {(sessions) => (
          <ul className={classes.list}>
            {sessions.map((session) => (
              <li key={session.id}>
                <div className={classes.what}>
                  <Group gap="xs">
                    <Text fw={550} title={session.user_agent}>
                      {deviceName(session.user_agent)}
                    </Text>
                    {session.current && (
                      <Badge variant="default" tt="none" fw={500}>
                        {t('settings.devices.current')}
                      </Badge>
                    )}
                  </Group>
                  <Text size="sm" c="dimmed">
                    {t.rich(session.current ? 'settings.devices.signedIn' : 'settings.devices.lastSeen', {
                      address: session.address,
                      signedIn: () => <When at={session.created_at} />,
                      lastSeen: () => <When at={session.last_seen_at} />,
                    })}
                  </Text>
                </div>
                {!session.current && (
                  <Button
                    variant="default"
                    size="compact-sm"
                    aria-label={t('settings.devices.signOutDevice', {
                      device: deviceName(session.user_agent),
                      address: session.address,
                    })}
                    onClick={() => setEnding(session)}
                  >
                    {t('settings.devices.signOut')}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {ending && <EndDialog session={ending} onClose={() => setEnding(undefined)} />}
    </Panel>
  );
}

function EndDialog({ onClose, session }: { session: Session; onClose: () => void }) {
  const device = deviceName(session.user_agent);
  const end = useMutation({
    mutationFn: () => ok(api.DELETE('/api/v1/sessions/{id}', { params: { path: { id: session.id } } })),
    onSettled: () =>
      Promise.all(['sessions', 'events'].map((name) => queryClient.invalidateQueries({ queryKey: [name] }))),
  });
  return (
    <Confirm
      title={t('settings.devices.question', { device })}
      action={t('settings.devices.signOut')}
      isPending={end.isPending}
      error={end.error}
      onClose={onClose}
      onConfirm={() => end.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>{t('settings.devices.effect', { device, address: session.address })}</Text>
    </Confirm>
  );
}
