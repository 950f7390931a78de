import type { ComponentType } from 'react';
import { useAccount } from '../api/queries.ts';
import { NotFound } from '../pages/not-found.tsx';

/** Shows "not found" to all other users. */
export const forOperators = (Page: ComponentType): ComponentType =>
  function ForOperators() {
    const { data: account } = useAccount();
    return account?.is_operator ? <Page /> : <NotFound />;
  };
