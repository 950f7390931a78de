/** Keeps third-party packages away from the network and the user's home folder. */
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { Test } from 'tap';

type Options = { host?: string; path?: string };

const isLoopback = ({ host = 'localhost', path: socket }: Options): boolean =>
  socket !== undefined ||
  host === 'localhost' ||
  host === '::1' ||
  (net.isIPv4(host) && host.startsWith('127.'));

/** The options of a `connect` call. Node.js modules pass a list of normalized arguments. */
function optionsOf([first, second]: unknown[]): Options {
  if (Array.isArray(first)) return optionsOf(first);
  if (typeof first === 'object' && first !== null) return first as Options;
  if (typeof first === 'string' && Number.isNaN(Number(first))) return { path: first };
  return typeof second === 'string' ? { host: second } : {};
}

/**
 * Until the test ends, connections to other machines fail, and `HOME` is an empty folder.
 *
 * @returns a list that collects the hosts of the connections that failed
 */
export function onlyLoopback(t: Test): string[] {
  const tried: string[] = [];
  const { HOME } = process.env;
  const { connect } = net.Socket.prototype;
  net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]) {
    const options = optionsOf(args);
    if (isLoopback(options)) return Reflect.apply(connect, this, args);
    tried.push(String(options.host));
    return this.destroy(new Error(`Tests must not connect to ${options.host}.`));
  } as typeof connect;
  const home = mkdtempSync(path.join(os.tmpdir(), 'parley-home-'));
  process.env.HOME = home;
  t.teardown(() => {
    net.Socket.prototype.connect = connect;
    if (HOME === undefined) delete process.env.HOME;
    else process.env.HOME = HOME;
    rmSync(home, { recursive: true });
  });
  return tried;
}
