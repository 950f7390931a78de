/** The list of keys. Narrow screens show cards, because a table would hide the actions. */

import { Button, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { t } from '../../texts/language.ts';
import { Created, Expires, LastUsed, Origins, RequestsLink, Scopes } from './facts.tsx';
import type { ApiKey } from './keys.ts';
import { PreviousSecret } from './previous-secret.tsx';
import { Used } from './used.tsx';
import classes from './your-api.module.css';

export type KeyAction = 'origins' | 'rotate' | 'revoke' | 'endPrevious';
type ButtonAction = Exclude<KeyAction, 'endPrevious'>;
type Props = { keys: readonly ApiKey[]; onAction: (action: KeyAction, apiKey: ApiKey) => void };

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
    aria-label={t(`keys.list.actionsOf.${action}`, { name: apiKey.name })}
    onClick={() => onAction(action, apiKey)}
  >
    {action === 'origins' ? t('keys.list.edit') : t(`keys.list.actions.${action}`)}
  </Button>
);

function KeyTable({ keys, onAction }: Props) {
  return (
    <Paper withBorder className={classes.table ?? ''}>
      <Table verticalSpacing="sm" horizontalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {(['key', 'scopes', 'origins', 'created', 'lastUsed', 'expires'] as const).map((title) => (
              <Table.Th key={title}>{t(`keys.list.${title}`)}</Table.Th>
            ))}
            <Table.Th>
              <span className={classes.hidden}>{t('keys.list.actionsTitle')}</span>
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
    <code className={classes.prefix} title={t('keys.list.prefix')}>
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
            <dt>{t('keys.list.scopes')}</dt>
            <dd>
              <Scopes apiKey={apiKey} />
            </dd>
            <dt>{t('keys.list.origins')}</dt>
            <dd>
              <Origins apiKey={apiKey} />
            </dd>
            <dt>{t('keys.list.created')}</dt>
            <dd>
              <Created apiKey={apiKey} />
            </dd>
            <dt>{t('keys.list.lastUsed')}</dt>
            <dd>
              <LastUsed apiKey={apiKey} />
            </dd>
            <dt>{t('keys.list.usage')}</dt>
            <dd>
              <Used apiKey={apiKey} />
              <RequestsLink apiKey={apiKey} />
            </dd>
            <dt>{t('keys.list.expires')}</dt>
            <dd>
              <Expires apiKey={apiKey} />
            </dd>
          </dl>
          <Group gap="xs" grow preventGrowOverflow={false}>
            {(['origins', 'rotate', 'revoke'] as const).map((action) => (
              <Button
                key={action}
                variant="default"
                className={action === 'revoke' ? (classes.danger ?? '') : ''}
                aria-label={t(`keys.list.actionsOf.${action}`, { name: apiKey.name })}
                px="xs"
                onClick={() => onAction(action, apiKey)}
              >
                {t(`keys.list.actions.${action}`)}
              </Button>
            ))}
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}
