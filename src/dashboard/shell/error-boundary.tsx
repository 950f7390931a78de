import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { PageLoadError } from './loaded-page.tsx';

type Props = {
  children: ReactNode;
  at?: string;
};
type State = { failure: { error: unknown } | null };

function explanation(error: unknown): string {
  if (!navigator.onLine) return 'You are offline. Connect to a network, then try again.';
  if (!(error instanceof PageLoadError))
    return 'Everything you saved is safe. Reload the page. If the problem persists, tell the operator what you did.';
  return error.isOutdated
    ? 'Parley was updated after you opened this tab. Reload the page to use the new version.'
    : 'This page could not be loaded. Check your connection, then try again.';
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
        <Title order={1}>This page could not be displayed</Title>
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
              Try again
            </Button>
          )}
          <Button variant={canTryAgain ? 'default' : 'filled'} onClick={() => location.reload()}>
            Reload
          </Button>
        </Group>
      </Stack>
    );
  }
}
