import { Badge, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok, type Schemas } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
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
    <Panel
      title="Signed-in devices"
      description="Sign out devices you don't recognize, then change your password."
    >
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
                        This device
                      </Badge>
                    )}
                  </Group>
                  <Text size="sm" c="dimmed">
                    {session.address} · signed in <When at={session.created_at} />
                    {!session.current && (
                      <>
                        {' '}
                        · last seen <When at={session.last_seen_at} />
                      </>
                    )}
                  </Text>
                </div>
                {!session.current && (
                  <Button
                    variant="default"
                    size="compact-sm"
                    aria-label={`Sign out ${deviceName(session.user_agent)}, ${session.address}`}
                    onClick={() => setEnding(session)}
                  >
                    Sign out
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
  const end = useMutation({
    mutationFn: () => ok(api.DELETE('/api/v1/sessions/{id}', { params: { path: { id: session.id } } })),
    onSettled: () =>
      Promise.all(['sessions', 'events'].map((name) => queryClient.invalidateQueries({ queryKey: [name] }))),
  });
  return (
    <Confirm
      title={`Sign out ${deviceName(session.user_agent)}?`}
      action="Sign out"
      isPending={end.isPending}
      error={end.error}
      onClose={onClose}
      onConfirm={() => end.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>
        {deviceName(session.user_agent)} at {session.address} will be signed out immediately. API keys keep
        working.
      </Text>
    </Confirm>
  );
}
