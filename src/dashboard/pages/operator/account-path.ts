export const accountPath = (id: string, search = ''): string => `/operator/accounts/${id}${search}`;

/** The path of the account's log, filtered by refused requests. */
export const refusalsPath = (id: string): string => accountPath(id, '?status=4xx');
