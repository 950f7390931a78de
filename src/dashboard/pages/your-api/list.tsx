/** Cards on narrow screens, where a table would hide the actions. */
import { Button, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { Created, Expires, LastUsed, Origins, RequestsLink, Scopes } from './facts.tsx';
import type { ApiKey } from './keys.ts';
import { PreviousSecret } from './previous-secret.tsx';
import { Used } from './used.tsx';
import classes from './your-api.module.css';

export type KeyAction = 'origins' | 'rotate' | 'revoke' | 'endPrevious';
type ButtonAction = Exclude<KeyAction, 'endPrevious'>;
type Props = { keys: readonly ApiKey[]; onAction: (action: KeyAction, apiKey: ApiKey) => void };

const labels: Record<ButtonAction, string> = { origins: 'Edit origins', rotate: 'Rotate', revoke: 'Revoke' };

export function KeyList(props: Props) {
  const isNarrow = useMediaQuery('(max-width: 79.99em)', undefined, { getInitialValueInEffect: false });
  return isNarrow ? <Cards {...props} /> : <KeyTable {...props} />;
}

type ActionProps = { action: ButtonAction; apiKey: ApiKey; onAction: Props['onAction'] };

const ActionButton = ({ action, apiKey, onAction }: ActionProps) => (
  <Button
    size="compact-sm"
    variant="default"
    className={action === 'revoke' ? (classes.danger ?? '') : ''}
    aria-label={`${labels[action]} for ${apiKey.name}`.replace(/^(Rotate|Revoke) for/, '$1')}
    onClick={() => onAction(action, apiKey)}
  >
    {action === 'origins' ? 'Edit' : labels[action]}
  </Button>
);

function KeyTable({ keys, onAction }: Props) {
  return (
    <Paper withBorder className={classes.table ?? ''}>
      <Table verticalSpacing="sm" horizontalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {['Key', 'Scopes', 'Allowed origins', 'Created', 'Last used', 'Expires'].map((title) => (
              <Table.Th key={title}>{title}</Table.Th>
            ))}
            <Table.Th>
              <span className={classes.hidden}>Actions</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((apiKey) => (
            <Table.Tr key={apiKey.id}>
              <Table.Td>
                <Name apiKey={apiKey} onAction={onAction} />
              </Table.Td>
              <Table.Td>
                <Scopes apiKey={apiKey} />
              </Table.Td>
              <Table.Td>
                <Stack gap={4} align="flex-start">
                  <span>
                    <Origins apiKey={apiKey} />
                  </span>
                  <ActionButton action="origins" apiKey={apiKey} onAction={onAction} />
                </Stack>
              </Table.Td>
              <Table.Td className={classes.time ?? ''}>
                <Created apiKey={apiKey} />
              </Table.Td>
              <Table.Td className={classes.time ?? ''}>
                <LastUsed apiKey={apiKey} />
                <Used apiKey={apiKey} />
                <RequestsLink apiKey={apiKey} />
              </Table.Td>
              <Table.Td className={classes.time ?? ''}>
                <Expires apiKey={apiKey} />
              </Table.Td>
              <Table.Td>
                <Stack gap={6}>
                  <ActionButton action="rotate" apiKey={apiKey} onAction={onAction} />
                  <ActionButton action="revoke" apiKey={apiKey} onAction={onAction} />
                </Stack>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

const Name = ({ apiKey, onAction }: { apiKey: ApiKey; onAction: Props['onAction'] }) => (
  <>
    <Text fw={600} className={classes.name ?? ''}>
      {apiKey.name}
    </Text>
    <code className={classes.prefix} title="The beginning of the key">
      {apiKey.key_prefix}…
    </code>
    <PreviousSecret apiKey={apiKey} onEnd={() => onAction('endPrevious', apiKey)} />
  </>
);

function Cards({ keys, onAction }: Props) {
  return (
    <Stack component="ul" className={classes.cards ?? ''}>
      {keys.map((apiKey) => (
        <Paper key={apiKey.id} component="li" withBorder p="md" bg="var(--parley-panel)">
          <Name apiKey={apiKey} onAction={onAction} />
          <dl className={classes.facts}>
            <dt>Scopes</dt>
            <dd>
              <Scopes apiKey={apiKey} />
            </dd>
            <dt>Allowed origins</dt>
            <dd>
              <Origins apiKey={apiKey} />
            </dd>
            <dt>Created</dt>
            <dd>
              <Created apiKey={apiKey} />
            </dd>
            <dt>Last used</dt>
            <dd>
              <LastUsed apiKey={apiKey} />
            </dd>
            <dt>Usage</dt>
            <dd>
              <Used apiKey={apiKey} />
              <RequestsLink apiKey={apiKey} />
            </dd>
            <dt>Expires</dt>
            <dd>
              <Expires apiKey={apiKey} />
            </dd>
          </dl>
          <Group gap="xs" grow>
            {(['origins', 'rotate', 'revoke'] as const).map((action) => (
              <Button
                key={action}
                variant="default"
                className={action === 'revoke' ? (classes.danger ?? '') : ''}
                aria-label={`${labels[action]} for ${apiKey.name}`.replace(/^(Rotate|Revoke) for/, '$1')}
                px="xs"
                onClick={() => onAction(action, apiKey)}
              >
                {labels[action]}
              </Button>
            ))}
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}
