/** What a finished action says, announced to screen readers and kept on the screen until it is closed. */

import { Alert, Paper, Text } from '@mantine/core';
import { t } from '../texts/language.ts';
import { focusHeading } from './focus.ts';
import { InfoIcon } from './icons.tsx';
import classes from './said.module.css';

type Props = { message: string | undefined; onClose: () => void };

export const Said = ({ message, onClose }: Props) => (
  <div role="status" className={classes.said}>
    {message !== undefined && (
      // The alert's own background lets the page shine through.
      <Paper shadow="md" mb="md" bg="var(--parley-panel)">
        <Alert
          variant="light"
          icon={<InfoIcon />}
          withCloseButton
          closeButtonLabel={t('ui.close')}
          onClose={() => {
            onClose();
            focusHeading();
          }}
        >
          <Text size="sm" c="var(--mantine-color-text)">
            {message}
          </Text>
        </Alert>
      </Paper>
    )}
  </div>
);
