import { Badge, Button, Group, Paper, Stack, Table, Text } from '@mantine/core';
import { Fragment } from 'react';
import { t } from '../../texts/language.ts';
import { formatMs } from '../../ui/numbers.ts';
import type { KeyLabel } from './keys.ts';
import { keyName } from './keys.ts';
import {
  cellsOf,
  chargeOf,
  endpointLabel,
  isCall,
  outcomeOf,
  type Row,
  tokensOf,
  tookOf,
  utcTime,
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

/** Allows line breaks in a path only before slashes. */
const What = ({ row }: { row: Row }) =>
  endpointLabel(row)
    .split(/(?=\/)/)
    .map((part, index) => (
      <Fragment key={index}>
        {index > 0 && <wbr />}
        {part}
      </Fragment>
    ));

type DetailsButtonProps = { row: Row; onShow: (row: Row) => void; size: 'compact-xs' | 'compact-sm' };

const DetailsButton = ({ onShow, row, size }: DetailsButtonProps) => (
  <Button
    size={size}
    variant="default"
    aria-label={t('usage.log.detailsFor', { request: endpointLabel(row), time: utcTime(row) })}
    onClick={() => onShow(row)}
  >
    {t('usage.log.details')}
  </Button>
);

export function RequestTable({ keys, onShow, rows }: Props) {
  return (
    <Paper withBorder bg="var(--parley-panel)" className={classes.rows ?? ''}>
      <Table verticalSpacing="xs" horizontalSpacing={8} fz={13} aria-labelledby="log">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('usage.log.time')}</Table.Th>
            <Table.Th>{t('usage.log.request')}</Table.Th>
            <Table.Th>{t('usage.log.source')}</Table.Th>
            <Table.Th>{t('usage.log.model')}</Table.Th>
            <Table.Th ta="end">{t('meters.label.tokens')}</Table.Th>
            <Table.Th>{t('usage.log.outcome')}</Table.Th>
            <Table.Th>{t('usage.log.charged')}</Table.Th>
            <Table.Th ta="end">{t('usage.log.firstOutput')}</Table.Th>
            <Table.Th ta="end">{t('usage.log.duration')}</Table.Th>
            <Table.Th>
              <span className={classes.hidden}>{t('usage.log.details')}</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <TableRow key={row.id} row={row} keys={keys} onShow={onShow} />
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

type RowProps = { row: Row } & Omit<Props, 'rows'>;

function TableRow({ keys, onShow, row }: RowProps) {
  const { firstOutput, model, tokens } = cellsOf(row);
  return (
    <Table.Tr>
      <Table.Td>{utcTime(row)}</Table.Td>
      <Table.Td>
        <div className={isCall(row) ? (classes.code ?? '') : ''}>
          <What row={row} />
        </div>
      </Table.Td>
      <Table.Td className={classes.who ?? ''}>{keyName(row.key_id, keys)}</Table.Td>
      <Table.Td className={classes.who ?? ''}>{model}</Table.Td>
      <Table.Td ta="end">{tokens}</Table.Td>
      <Table.Td>
        <Outcome row={row} />
      </Table.Td>
      <Table.Td>{chargeOf(row)}</Table.Td>
      <Table.Td ta="end" className={classes.time ?? ''}>
        {firstOutput}
      </Table.Td>
      <Table.Td ta="end" className={classes.time ?? ''}>
        {tookOf(row)}
      </Table.Td>
      <Table.Td>
        <DetailsButton row={row} onShow={onShow} size="compact-xs" />
      </Table.Td>
    </Table.Tr>
  );
}

/** One line of a card: "gpt-5 · 1,204 tokens · first output after 310 ms". */
function ModelFacts({ row }: { row: Row }) {
  const { first_output_ms: firstMs, model } = row;
  const tokens = tokensOf(row);
  if (model === null && tokens === null && firstMs === null) return null;
  return (
    <Text size="xs" c="dimmed" component="div" className={classes.cardFacts ?? ''}>
      {model !== null && <span>{model}</span>}
      {tokens !== null && <span>{t('usage.history.count.tokens', { count: tokens })}</span>}
      {firstMs !== null && <span>{t('usage.log.firstOutputAfter', { time: formatMs(firstMs) })}</span>}
    </Text>
  );
}

export function RequestCards({ keys, onShow, rows }: Props) {
  return (
    <Stack component="ul" gap="xs" p={0} m={0} className={classes.cards ?? ''}>
      {rows.map((row) => (
        <Paper key={row.id} component="li" withBorder px="xs" py={8} bg="var(--parley-panel)">
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
          <ModelFacts row={row} />
          <Group justify="space-between" gap="xs" wrap="nowrap" mt={4}>
            <Outcome row={row} />
            <DetailsButton row={row} onShow={onShow} size="compact-sm" />
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}
