export const accountPath = (id: string, search = ''): string => `/operator/accounts/${id}${search}`;

/** The account's log, with refused requests only. */
export const refusalsPath = (id: string): string => accountPath(id, '?status=4xx');
