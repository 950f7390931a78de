import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { t } from '../texts/language.ts';
import { PageLoadError } from './loaded-page.tsx';

type Props = {
  children: ReactNode;
  at?: string;
};
type State = { failure: { error: unknown } | null };

function explanation(error: unknown): string {
  if (!navigator.onLine) return t('errors.offline');
  if (!(error instanceof PageLoadError)) return t('errors.unexpected');
  return error.isOutdated ? t('errors.outdated') : t('errors.notLoaded');
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { failure: null };

  static getDerivedStateFromError(error: unknown): State {
    return { failure: { error } };
  }

  override componentDidMount(): void {
    addEventListener('online', this.#tryAgain);
  }

  override componentWillUnmount(): void {
    removeEventListener('online', this.#tryAgain);
  }

  override componentDidUpdate({ at }: Props): void {
    if (at !== this.props.at) this.#tryAgain();
  }

  #tryAgain = (): void => {
    if (this.state.failure !== null) this.setState({ failure: null });
  };

  override render(): ReactNode {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    const canTryAgain = failure.error instanceof PageLoadError && !failure.error.isOutdated;
    return (
      <Stack align="flex-start" p="xl" maw={560} mx="auto">
        <Title order={1}>{t('errors.notDisplayed')}</Title>
        <Text>{explanation(failure.error)}</Text>
        <Group>
          {canTryAgain && (
            <Button
              onClick={() => {
                // The button disappears, so move the focus.
                document.getElementById('main')?.focus();
                this.#tryAgain();
              }}
            >
              {t('ui.tryAgain')}
            </Button>
          )}
          <Button variant={canTryAgain ? 'default' : 'filled'} onClick={() => location.reload()}>
            {t('ui.reload')}
          </Button>
        </Group>
      </Stack>
    );
  }
}
