/** The last resort: a page that broke says so, and offers to begin anew; once the network is back, by itself. */
import { Button, Stack, Text, Title } from '@mantine/core';
import { Component, type ReactNode } from 'react';

type Props = {
  children: ReactNode;
  /** Where the page is: elsewhere it is worth another try. */
  at?: string;
};
type State = { hasFailed: boolean };

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { hasFailed: false };

  static getDerivedStateFromError(): State {
    return { hasFailed: true };
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
    if (this.state.hasFailed) this.setState({ hasFailed: false });
  };

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <Stack align="flex-start" p="xl" maw={560} mx="auto">
        <Title order={1}>This page could not be shown</Title>
        <Text>
          {navigator.onLine
            ? 'Nothing that you saved is lost. Reload the page; if it stays, tell the operator what you did.'
            : 'You are offline. Connect to a network, then reload the page.'}
        </Text>
        <Button onClick={() => location.reload()}>Reload</Button>
      </Stack>
    );
  }
}
