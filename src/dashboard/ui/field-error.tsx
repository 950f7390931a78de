import { isOfForm, type Problem } from '../api/errors.ts';
import classes from './field-error.module.css';
import { Sentence } from './sentence.tsx';

export const FieldError = ({ problem }: { problem: Problem }) => (
  <span role="alert" className={classes.error}>
    <Sentence>{problem.message}</Sentence>
    {problem.requestId !== null && !isOfForm(problem) && (
      <small>
        Request ID <code>{problem.requestId}</code>
      </small>
    )}
  </span>
);
