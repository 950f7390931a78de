import { Anchor, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { t } from '../../texts/language.ts';
import { CopyField } from '../../ui/copy-field.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { formatCost, formatCount, formatMs, listOf } from '../../ui/numbers.ts';
import { exactTime, isUtc } from '../../ui/when.tsx';
import { type KeyLabel, keyName } from './keys.ts';
import { Outcome } from './log-rows.tsx';
import { endpointLabel, type Row, tookOf, unitsOf, utcTime } from './requests.ts';
import classes from './usage.module.css';

type Props = {
  row: Row;
  keys: readonly KeyLabel[];
  /** The currency of costs, for operators. */
  currency?: string | null;
  onClose: () => void;
};

const known = (count: number | null): string =>
  count === null ? t('usage.details.unknown') : formatCount(count);

function tokensOf({ cached_tokens, input_tokens, output_tokens, reasoning_tokens }: Row): string {
  if (input_tokens === null && output_tokens === null) return t('usage.details.unknown');
  const input = known(input_tokens);
  const output = known(output_tokens);
  return listOf([
    cached_tokens
      ? t('usage.details.inputCached', { input, cached: cached_tokens })
      : t('usage.details.input', { input }),
    reasoning_tokens
      ? t('usage.details.outputReasoning', { output, reasoning: reasoning_tokens })
      : t('usage.details.output', { output }),
  ]);
}

export function RequestDetails({ currency, keys, onClose, row }: Props) {
  const { attempts, at, code, cost_micros, first_output_ms, key_id, kind, model, state } = row;
  const upstream = [row.upstream, row.upstream_model].filter(Boolean).join(', ');
  const isRequest = kind === 'request';
  const key = keys.find(({ id }) => id === key_id);
  const facts: [string, ReactNode][] = [
    [
      isRequest ? t('usage.details.time') : t('usage.details.minute'),
      isUtc(at)
        ? t('usage.details.utc', { utc: utcTime(row) })
        : t('usage.details.times', { utc: utcTime(row), local: exactTime(at) }),
    ],
    [t('usage.log.request'), endpointLabel(row)],
    [t('usage.log.source'), key ? `${key.name} (${key.key_prefix}…)` : keyName(key_id, keys)],
    [t('usage.log.outcome'), <Outcome key="outcome" row={row} />],
    [
      t('usage.details.charge'),
      isRequest ? t(`usage.details.charges.${state}`, { charge: unitsOf(row) }) : t('usage.states.refused'),
    ],
    ...(isRequest
      ? ([
          [t('usage.log.model'), model ?? t('usage.details.noModel')],
          [t('meters.label.tokens'), tokensOf(row)],
          [t('usage.log.duration'), tookOf(row)],
          ...(first_output_ms === null
            ? []
            : [[t('usage.details.firstOutput'), formatMs(first_output_ms)] satisfies [string, ReactNode]]),
          ...(attempts === null || attempts < 2
            ? []
            : [[t('usage.details.attempts'), formatCount(attempts)] satisfies [string, ReactNode]]),
          ...(upstream ? [[t('usage.details.upstream'), upstream] satisfies [string, ReactNode]] : []),
          ...(currency && cost_micros
            ? [[t('usage.details.cost'), formatCost(cost_micros, currency)] satisfies [string, ReactNode]]
            : []),
        ] satisfies [string, ReactNode][])
      : []),
  ];
  return (
    <Dialog title={isRequest ? t('usage.log.request') : t('usage.details.refused')} onClose={onClose}>
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
            {t('usage.details.errorGuide', { code })}
          </Anchor>
        )}
        <div>
          <Text size="sm" mb={4}>
            {isRequest ? t('usage.log.requestId') : t('usage.details.rowId')}
          </Text>
          <CopyField
            value={row.id}
            label={isRequest ? t('usage.details.copyRequestId') : t('usage.details.copyRowId')}
          />
        </div>
      </Stack>
    </Dialog>
  );
}
