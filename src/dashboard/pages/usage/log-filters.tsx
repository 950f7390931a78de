import { NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../texts/language.ts';
import { useModels } from '../chat/models.ts';
import { type Filters, isRequestId, isTurnedAround } from './filters.ts';
import { type KeyLabel, keyChoices } from './keys.ts';
import { endpointFilters, statuses } from './requests.ts';
import classes from './usage.module.css';

type Props = {
  filters: Filters;
  keys: readonly KeyLabel[];
  onChange: (changes: Partial<Filters>) => void;
};

function RequestId({ filters, onChange }: Pick<Props, 'filters' | 'onChange'>) {
  const [typed, setTyped] = useState(filters.id);
  const isOdd = typed !== '' && !isRequestId(typed);
  return (
    <TextInput
      label={t('usage.log.requestId')}
      placeholder={t('usage.log.filters.requestIdFrom')}
      className={classes.whole ?? ''}
      autoComplete="off"
      spellCheck={false}
      maxLength={40}
      value={isOdd ? typed : filters.id}
      error={isOdd && t('usage.log.filters.requestIdLength')}
      onChange={(event) => {
        const text = event.currentTarget.value.trim();
        setTyped(text);
        onChange({ id: isRequestId(text) ? text : '' });
      }}
    />
  );
}

/** Also offers the model of the address, which may no longer exist. */
function Model({ filters: { model }, onChange }: Pick<Props, 'filters' | 'onChange'>) {
  const { ids } = useModels();
  const known = model === '' || ids.includes(model) ? ids : [model, ...ids];
  return (
    <NativeSelect
      label={t('usage.log.model')}
      data={[
        { value: '', label: t('usage.log.filters.anyModel') },
        ...known.map((id) => ({ value: id, label: id })),
      ]}
      value={model}
      onChange={(event) => onChange({ model: event.currentTarget.value })}
    />
  );
}

export const LogFilters = ({ filters, keys, onChange }: Props) => (
  <div className={classes.logFilters}>
    <NativeSelect
      label={t('usage.log.source')}
      data={keyChoices(keys, filters.key_id)}
      value={filters.key_id}
      onChange={(event) => onChange({ key_id: event.currentTarget.value })}
    />
    <NativeSelect
      label={t('usage.log.filters.endpoint')}
      data={endpointFilters()}
      value={filters.endpoint}
      onChange={(event) => onChange({ endpoint: event.currentTarget.value })}
    />
    <Model filters={filters} onChange={onChange} />
    <NativeSelect
      label={t('usage.log.filters.status')}
      data={statuses()}
      value={filters.status}
      onChange={(event) => onChange({ status: event.currentTarget.value })}
    />
    <TextInput
      type="date"
      label={t('usage.log.filters.from')}
      className={classes.day ?? ''}
      value={filters.from}
      onChange={(event) => onChange({ from: event.currentTarget.value })}
    />
    <TextInput
      type="date"
      label={t('usage.log.filters.to')}
      className={classes.day ?? ''}
      value={filters.to}
      error={isTurnedAround(filters) && t('usage.log.filters.turnedAround')}
      onChange={(event) => onChange({ to: event.currentTarget.value })}
    />
    <RequestId filters={filters} onChange={onChange} />
  </div>
);
