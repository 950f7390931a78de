import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ok } from '../../api/client.ts';

const key = 'parley.model';

function remembered(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function useModels() {
  const { data } = useQuery({
    queryKey: ['models'],
    queryFn: ({ signal }) => ok(api.GET('/api/v1/models', { signal })),
    staleTime: 300_000,
  });
  const [wanted, setWanted] = useState(remembered);
  const ids = data?.data.map(({ id }) => id) ?? [];
  return {
    ids,
    chosen: ids.find((id) => id === wanted) ?? ids[0],
    choose(id: string): void {
      setWanted(id);
      try {
        localStorage.setItem(key, id);
      } catch {
        // Storage is unavailable: the choice lasts until the page is closed.
      }
    },
  };
}
