import { Anchor, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyField } from '../../ui/copy-field.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { formatCost, formatCount } from '../../ui/numbers.ts';
import { exactTime } from '../../ui/when.tsx';
import { type KeyLabel, keyName } from './keys.ts';
import { Outcome } from './log-rows.tsx';
import { chargeOf, msText, type Row, states, tookOf, utcTime, whatOf } from './requests.ts';
import classes from './usage.module.css';

type Props = {
  row: Row;
  keys: readonly KeyLabel[];
  /** Of costs, for operators. */
  currency?: string | null;
  onClose: () => void;
};

const known = (count: number | null): string => (count === null ? 'Unknown' : formatCount(count));

const parts = (count: number | null, what: string): string =>
  count ? ` (${formatCount(count)} ${what})` : '';

export function RequestDetails({ currency, keys, onClose, row }: Props) {
  const {
    attempts,
    at,
    cached_tokens,
    code,
    cost_micros,
    first_output_ms,
    input_tokens,
    key_id,
    kind,
    model,
    output_tokens,
    reasoning_tokens,
    state,
    upstream,
  } = row;
  const isRequest = kind === 'request';
  const key = keys.find(({ id }) => id === key_id);
  const facts: [string, ReactNode][] = [
    [isRequest ? 'Time' : 'Minute', `${utcTime(row)} UTC (${exactTime(at)} your time)`],
    ['Request', whatOf(row)],
    ['Source', key ? `${key.name} (${key.key_prefix}…)` : keyName(key_id, keys)],
    ['Outcome', <Outcome key="outcome" row={row} />],
    ['Charge', isRequest ? `${chargeOf(row)} (${states[state].toLowerCase()})` : 'Not charged'],
    ...(isRequest
      ? ([
          ['Model', model ?? 'None'],
          [
            'Tokens',
            `${known(input_tokens)} in${parts(cached_tokens, 'cached')}, ${known(output_tokens)} out${parts(reasoning_tokens, 'reasoning')}`,
          ],
          ['Duration', tookOf(row)],
          ...(first_output_ms === null
            ? []
            : [['First output after', msText(first_output_ms)] satisfies [string, ReactNode]]),
          ...(attempts === null || attempts < 2
            ? []
            : [['Model servers tried', formatCount(attempts)] satisfies [string, ReactNode]]),
          ...(upstream ? [['Upstream', upstream] satisfies [string, ReactNode]] : []),
          ...(currency && cost_micros
            ? [['Cost', formatCost(cost_micros, currency)] satisfies [string, ReactNode]]
            : []),
        ] satisfies [string, ReactNode][])
      : []),
  ];
  return (
    <Dialog title={isRequest ? 'Request' : 'Refused requests'} onClose={onClose}>
      <Stack>
        <dl className={classes.facts}>
          {facts.map(([name, fact]) => (
            <Group key={name} display="contents">
              <dt>{name}</dt>
              <dd>{fact}</dd>
            </Group>
          ))}
        </dl>
        {code !== null && (
          <Anchor href={`/docs/errors/${code}`} size="sm" underline="always">
            What {code} means and what to do
          </Anchor>
        )}
        <div>
          <Text size="sm" mb={4}>
            {isRequest ? 'Request ID' : 'Row ID'}
          </Text>
          <CopyField value={row.id} label={isRequest ? 'request ID' : 'row ID'} />
        </div>
      </Stack>
    </Dialog>
  );
}
