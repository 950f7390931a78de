import { isOfForm, type Problem } from '../api/errors.ts';
import classes from './field-error.module.css';
import { type FieldName, messageFor } from './field-sentences.ts';
import { requestIdOf } from './problem.tsx';
import { Sentence } from './sentence.tsx';

export const FieldError = ({ field, problem }: { problem: Problem; field: FieldName }) => (
  <span role="alert" className={classes.error}>
    <Sentence>{messageFor(problem, field)}</Sentence>
    {problem.requestId !== null && !isOfForm(problem) && <small>{requestIdOf(problem.requestId)}</small>}
  </span>
);
