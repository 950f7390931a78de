import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useRef, useState } from 'react';
import { useModelList } from '../../api/queries.ts';
import { t } from '../../texts/language.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { countOf, type Filters, isRequestId, isReversed, noFilters } from './filters.ts';
import { type KeyLabel, keyChoices } from './keys.ts';
import { CARRIED_OVER, endpointFilters, type Row, statuses } from './requests.ts';
import classes from './usage.module.css';

/** Values from the URL and from all rows so far. */
type Seen = { models: ReadonlySet<string>; endpoints: ReadonlySet<string> };

type Props = {
  filters: Filters;
  keys: readonly KeyLabel[];
  seen: Seen;
  onChange: (changes: Partial<Filters>) => void;
};

/** Collects values, so that a filter does not remove its own choices. */
export const useSeen = ({ endpoint, model }: Filters, rows: readonly Row[]): Seen => ({
  models: useValues(
    model,
    rows.map((row) => row.model),
  ),
  endpoints: useValues(
    endpoint,
    rows.map((row) => row.endpoint),
  ),
});

function useValues(chosen: string, values: readonly (string | null)[]): ReadonlySet<string> {
  const seen = useRef(new Set<string>());
  for (const value of [chosen, ...values]) if (value) seen.current.add(value);
  return seen.current;
}

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

/** Also offers models that no longer exist. */
function Model({ filters: { model }, onChange, seen }: Omit<Props, 'keys'>) {
  const { data: models } = useModelList();
  const known = new Set([...(models?.data ?? []).map(({ id }) => id), ...seen.models]);
  return (
    <NativeSelect
      label={t('usage.log.model')}
      data={[
        { value: '', label: t('usage.log.filters.anyModel') },
        ...Array.from(known, (id) => ({ value: id, label: id })),
      ]}
      value={model}
      onChange={(event) => onChange({ model: event.currentTarget.value })}
    />
  );
}

const Endpoint = ({ filters: { endpoint }, onChange, seen }: Omit<Props, 'keys'>) => (
  <NativeSelect
    label={t('usage.log.filters.endpoint')}
    data={endpointFilters(seen.endpoints.has(CARRIED_OVER))}
    value={endpoint}
    onChange={(event) => onChange({ endpoint: event.currentTarget.value })}
  />
);

/** Rarely used filters. Hiding them clears them. */
function MoreFilters(props: Pick<Props, 'filters' | 'onChange'>) {
  const [isOpen, setIsOpen] = useState(props.filters.id !== '');
  const toggle = () => {
    setIsOpen(!isOpen);
    if (props.filters.id !== '') props.onChange({ id: '' });
  };
  return (
    <>
      <Button
        variant="default"
        px="sm"
        className={classes.moreFilters ?? ''}
        aria-expanded={isOpen}
        onClick={toggle}
      >
        {t(isOpen ? 'usage.log.filters.fewer' : 'usage.log.filters.more')}
      </Button>
      {isOpen && <RequestId {...props} />}
    </>
  );
}

const Fields = ({ filters, keys, onChange, seen }: Props) => (
  <>
    <NativeSelect
      label={t('usage.log.source')}
      data={keyChoices(keys, filters.key_id)}
      value={filters.key_id}
      onChange={(event) => onChange({ key_id: event.currentTarget.value })}
    />
    <Endpoint filters={filters} onChange={onChange} seen={seen} />
    <Model filters={filters} onChange={onChange} seen={seen} />
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
      error={isReversed(filters) && t('usage.log.filters.turnedAround')}
      onChange={(event) => onChange({ to: event.currentTarget.value })}
    />
  </>
);

export const LogFilters = (props: Props) => (
  <div className={classes.logFilters}>
    <Fields {...props} />
    <MoreFilters {...props} />
  </div>
);

export function LogFiltersDialog({ onClose, ...props }: Props & { onClose: () => void }) {
  const { filters, onChange } = props;
  const showAll = () => {
    onChange(noFilters);
    onClose();
  };
  return (
    <Dialog title={t('usage.log.filters.title')} onClose={onClose}>
      <div className={classes.dialogFilters}>
        <Fields {...props} />
        <RequestId {...props} />
      </div>
      <Group mt="lg" justify="flex-end">
        {countOf(filters) > 0 && (
          <Button variant="default" onClick={showAll}>
            {t('usage.log.empty.showAll')}
          </Button>
        )}
        <Button onClick={onClose}>{t('ui.done')}</Button>
      </Group>
    </Dialog>
  );
}
