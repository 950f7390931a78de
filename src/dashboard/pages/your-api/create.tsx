import { Button, Checkbox, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { normalizeOrigin, OriginError } from '../../../domain/origins.ts';
import { toProblem } from '../../api/errors.ts';
import { t } from '../../texts/language.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FieldError } from '../../ui/field-error.tsx';
import { isOfField, sentenceFor } from '../../ui/field-sentences.ts';
import { useFocusOnError } from '../../ui/invalid-field.ts';
import { ProblemAlert } from '../../ui/problem.tsx';
import { Sentence } from '../../ui/sentence.tsx';
import { expiries, expiryFrom, isFuture } from './expiry.ts';
import { type Scope, useCreateKey } from './keys.ts';
import { OriginsField } from './origins-field.tsx';
import { scopeNames } from './scopes.ts';
import { withoutSlash } from './suggested-origin.ts';
import classes from './your-api.module.css';

const fields = ['name', 'scopes', 'expires_at', 'allowed_origins'] as const;
type Field = (typeof fields)[number];

export function CreateDialog({ onClose }: { onClose: () => void }) {
  const create = useCreateKey();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<Scope[]>(['chat', 'models']);
  const [expiry, setExpiry] = useState('never');
  const [date, setDate] = useState('');
  const [origins, setOrigins] = useState<string[]>([]);
  const [entry, setEntry] = useState('');
  const [refusal, setRefusal] = useState<string>();
  /** The first missing or invalid field, found before the form is sent. */
  const [missing, setMissing] = useState<{ field: Field }>();

  const form = useFocusOnError<HTMLFormElement>(missing ?? create.error);
  const list = useRef<HTMLDivElement>(null);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (create.isPending) return;
    create.reset();
    const isPast = expiry === 'date' && !isFuture(date);
    const invalid = name.trim() === '' ? 'name' : isPast ? 'expires_at' : undefined;
    setMissing(invalid && { field: invalid });
    if (invalid !== undefined) return;
    const typed = withoutSlash(entry.trim());
    const listed = typed === '' ? origins : withOrigin(typed);
    if (listed === undefined) {
      const field = form.current?.querySelector<HTMLInputElement>('input[inputmode=url]');
      field?.closest('details')?.toggleAttribute('open', true);
      field?.focus();
      return;
    }
    create.mutate(
      { name, scopes: chosen, expires_at: expiryFrom(expiry, date), allowed_origins: listed },
      { onSuccess: onClose },
    );
  };
  // Uses the service's rule, so that errors show before the form is sent.
  const withOrigin = (typed: string): string[] | undefined => {
    try {
      const origin = normalizeOrigin(typed);
      const isListed = origins.includes(origin);
      setRefusal(isListed ? t('keys.origins.inList') : undefined);
      return isListed ? undefined : [...origins, origin];
    } catch (error) {
      if (!(error instanceof OriginError)) throw error;
      setRefusal(t(`errors.reasons.${error.reason}`));
      return undefined;
    }
  };
  const add = async (typed: string) => {
    create.reset();
    const listed = withOrigin(typed);
    if (listed !== undefined) setOrigins(listed);
    return listed !== undefined;
  };

  const problem = create.error && toProblem(create.error);
  const field = fields.find((one) => isOfField(problem, one));
  const errorAt = (one: Field) => {
    if (missing?.field === one) return <span role="alert">{sentenceFor(one)}</span>;
    return problem && field === one && <FieldError problem={problem} field={one} />;
  };
  const dateError = errorAt('expires_at');
  return (
    <Dialog title={t('keys.create.title')} onClose={onClose}>
      <form ref={form} onSubmit={submit} noValidate>
        <Stack gap="lg">
          <TextInput
            label={t('keys.create.name')}
            description={t('keys.create.nameAbout')}
            placeholder={t('keys.create.nameExample')}
            required
            withAsterisk={false}
            maxLength={100}
            autoComplete="off"
            data-autofocus
            value={name}
            error={errorAt('name')}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Checkbox.Group
            label={t('keys.list.scopes')}
            description={t('keys.create.scopesAbout')}
            value={chosen}
            error={chosen.length === 0 ? sentenceFor('scopes') : errorAt('scopes')}
            onChange={(value) => setChosen(value as Scope[])}
          >
            <Stack gap="sm" mt="xs">
              {scopeNames.map((scope) => (
                <Checkbox key={scope} value={scope} label={scope} description={t(`keys.scopes.${scope}`)} />
              ))}
            </Stack>
          </Checkbox.Group>
          <details className={classes.more}>
            <summary>{t('keys.create.more')}</summary>
            <Stack gap="lg">
              <Group grow align="flex-start">
                <NativeSelect
                  label={t('keys.list.expires')}
                  data={expiries.map((one) => ({ value: one, label: t(`keys.create.expiries.${one}`) }))}
                  value={expiry}
                  error={expiry !== 'date' && dateError}
                  onChange={(event) => setExpiry(event.currentTarget.value)}
                />
                {expiry === 'date' && (
                  <TextInput
                    label={t('keys.create.validThrough')}
                    type="date"
                    required
                    withAsterisk={false}
                    value={date}
                    error={dateError}
                    onChange={(event) => setDate(event.currentTarget.value)}
                  />
                )}
              </Group>
              <fieldset className={classes.fieldset}>
                <legend>{t('keys.list.origins')}</legend>
                <OriginsField
                  whole={list}
                  origins={origins}
                  entry={entry}
                  onEntry={setEntry}
                  onAdd={add}
                  onRemove={(origin) => {
                    create.reset();
                    setRefusal(undefined);
                    setOrigins(origins.filter((one) => one !== origin));
                  }}
                  error={
                    refusal === undefined ? (
                      errorAt('allowed_origins')
                    ) : (
                      <span role="alert" className={classes.refusal}>
                        <Sentence>{refusal}</Sentence>
                      </span>
                    )
                  }
                />
              </fieldset>
            </Stack>
          </details>
          {problem && field === undefined && <ProblemAlert error={problem} />}
          <Group justify="flex-end" className={classes.foot ?? ''}>
            <Button variant="default" onClick={onClose}>
              {t('ui.cancel')}
            </Button>
            <Button type="submit" loading={create.isPending} disabled={chosen.length === 0}>
              {t('keys.create.action')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
