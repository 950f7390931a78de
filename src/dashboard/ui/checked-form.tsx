/** Errors of a form's fields: those found before it is sent, and those from the API. */
import { type FormEvent, type ReactNode, type RefObject, useState } from 'react';
import { toProblem } from '../api/errors.ts';
import { FieldError } from './field-error.tsx';
import { type FieldName, isOfField, sentenceFor } from './field-sentences.ts';
import { useFocusOnError } from './invalid-field.ts';

export type ErrorAt = (field: FieldName) => ReactNode;

type CheckedForm = {
  form: RefObject<HTMLFormElement | null>;
  /** Calls `send` if all fields are valid. Otherwise, shows the required input. */
  onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  errorAt: ErrorAt;
  /** The API's error, unless a field shows it. */
  other: unknown;
};

/** The names of the invalid elements. */
const invalidFieldsOf = (form: HTMLFormElement): string[] =>
  [...form.elements].flatMap((element) =>
    element instanceof HTMLInputElement && !element.validity.valid ? [element.name] : [],
  );

/**
 * @param refused - the API's error; null or undefined if there is none
 * @param fields - the names of the fields that show their errors
 * @param sentences - error messages for fields where this form differs from others
 */
export function useCheckedForm(
  refused: unknown,
  fields: readonly FieldName[],
  send: (form: HTMLFormElement) => void,
  sentences: Partial<Record<FieldName, string>> = {},
): CheckedForm {
  const [invalid, setInvalid] = useState<readonly string[]>();
  const form = useFocusOnError<HTMLFormElement>(invalid ?? refused);
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const found = invalidFieldsOf(event.currentTarget);
    setInvalid(found.length > 0 ? found : undefined);
    if (found.length === 0) send(event.currentTarget);
  };
  const errorAt = (field: FieldName) => {
    if (invalid !== undefined)
      return invalid.includes(field) ? (
        <span role="alert">{sentences[field] ?? sentenceFor(field)}</span>
      ) : undefined;
    return isOfField(refused, field) ? <FieldError problem={toProblem(refused)} field={field} /> : undefined;
  };
  const isShown = invalid !== undefined || fields.some((field) => isOfField(refused, field));
  return { form, onSubmit, errorAt, other: isShown ? null : (refused ?? null) };
}
