// The request log can be filtered by every metered endpoint.
import t from 'tap';
import { endpoints } from '../../src/dashboard/pages/usage/endpoints.ts';
import { documentedAsMetered } from '../support/metered.ts';

t.test("the request log's endpoint filter lists the metered operations of openapi.json", async (t) => {
  t.same([...endpoints].sort(), [...documentedAsMetered().keys()].sort());
});
