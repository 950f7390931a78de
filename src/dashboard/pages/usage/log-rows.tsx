import { Badge, Button, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { Fragment } from 'react';
import { t } from '../../texts/language.ts';
import type { KeyLabel } from './keys.ts';
import { keyName } from './keys.ts';
import {
  chargeOf,
  isCall,
  modelOf,
  msText,
  outcomeOf,
  type Row,
  tookOf,
  utcTime,
  whatOf,
} from './requests.ts';
import classes from './usage.module.css';

type Props = { rows: readonly Row[]; keys: readonly KeyLabel[]; onShow: (row: Row) => void };

export function Outcome({ row }: { row: Row }) {
  const { color, text } = outcomeOf(row);
  return (
    <Badge
      color={color}
      variant="light"
      tt="none"
      classNames={{ root: classes.outcome ?? '', label: classes.outcomeLabel ?? '' }}
      data-color={color}
    >
      {text}
    </Badge>
  );
}

/** Breaks a path at its slashes only. */
const What = ({ row }: { row: Row }) =>
  whatOf(row)
    .split(/(?=\/)/)
    .map((part, index) => (
      <Fragment key={index}>
        {index > 0 && <wbr />}
        {part}
      </Fragment>
    ));

function Model({ row }: { row: Row }) {
  const model = modelOf(row);
  return model === '' ? null : (
    <Text size="xs" c="dimmed" className={classes.model ?? ''}>
      {model}
    </Text>
  );
}

const DetailsButton = ({ onShow, row }: { row: Row; onShow: (row: Row) => void }) => (
  <Button
    size="compact-sm"
    variant="default"
    aria-label={t('usage.log.detailsFor', { request: whatOf(row), time: utcTime(row) })}
    onClick={() => onShow(row)}
  >
    {t('usage.log.details')}
  </Button>
);

export function RequestTable({ keys, onShow, rows }: Props) {
  return (
    <Paper withBorder bg="var(--parley-panel)" className={classes.rows ?? ''}>
      <Table verticalSpacing="xs" horizontalSpacing="md" aria-labelledby="log">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('usage.log.time')}</Table.Th>
            <Table.Th>{t('usage.log.request')}</Table.Th>
            <Table.Th>{t('usage.log.source')}</Table.Th>
            <Table.Th>{t('usage.log.outcome')}</Table.Th>
            <Table.Th>{t('usage.log.charged')}</Table.Th>
            <Table.Th>{t('usage.log.duration')}</Table.Th>
            <Table.Th>
              <span className={classes.hidden}>{t('usage.log.details')}</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.id}>
              <Table.Td className={classes.time ?? ''}>{utcTime(row)}</Table.Td>
              <Table.Td>
                <div className={isCall(row) ? (classes.code ?? '') : ''}>
                  <What row={row} />
                </div>
                <Model row={row} />
              </Table.Td>
              <Table.Td className={classes.who ?? ''}>{keyName(row.key_id, keys)}</Table.Td>
              <Table.Td>
                <Outcome row={row} />
              </Table.Td>
              <Table.Td>{chargeOf(row)}</Table.Td>
              <Table.Td className={classes.time ?? ''}>
                {tookOf(row)}
                {row.first_output_ms !== null && (
                  <Text size="xs" c="dimmed">
                    {t('usage.log.firstOutput', { time: msText(row.first_output_ms) })}
                  </Text>
                )}
              </Table.Td>
              <Table.Td>
                <DetailsButton row={row} onShow={onShow} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

export function RequestCards({ keys, onShow, rows }: Props) {
  return (
    <Stack component="ul" gap="xs" p={0} m={0} className={classes.cards ?? ''}>
      {rows.map((row) => (
        <Paper key={row.id} component="li" withBorder p="xs" bg="var(--parley-panel)">
          <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
            <Text size="sm" fw={600} className={isCall(row) ? (classes.code ?? '') : ''}>
              <What row={row} />
            </Text>
            <Text size="xs" c="dimmed" className={classes.time ?? ''}>
              {utcTime(row)}
            </Text>
          </Group>
          <Text size="sm" c="dimmed" component="div" className={classes.cardFacts ?? ''}>
            <span>{keyName(row.key_id, keys)}</span>
            <span>{chargeOf(row)}</span>
            {row.latency_ms !== null && <span>{tookOf(row)}</span>}
          </Text>
          <Group justify="space-between" gap="xs" wrap="nowrap" mt={4}>
            <Outcome row={row} />
            <Model row={row} />
            <DetailsButton row={row} onShow={onShow} />
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}
