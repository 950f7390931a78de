/** An error that belongs to one field, for that field's `error`. */
import type { Problem } from '../api/errors.ts';
import classes from './field-error.module.css';

export const FieldError = ({ problem }: { problem: Problem }) => (
  <span role="alert" className={classes.error}>
    {problem.message}
    {problem.requestId !== null && (
      <small>
        Request id <code>{problem.requestId}</code>
      </small>
    )}
  </span>
);
