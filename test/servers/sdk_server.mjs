// sdk_server.mjs - a server on the official SDKs, with logs that tests can read.
//
//   node sdk_server.mjs ERA TRANSPORT --effects FILE --instance-log FILE --event-log FILE
//
// ERA        legacy (SDK v1) or modern (SDK v2); @FILE: the era that stands in that file, read at the start
// TRANSPORT  stdio; stdio-silent, stdio-exit: what a legacy server may do when it is asked for its era;
//            PORT: Streamable HTTP on /mcp; 0: any port, which the event "port N" tells
import fs from 'node:fs';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { born, note, noteGot } from './sdk_tools.mjs';

const [named, transport] = process.argv.slice(2);
const era = named.startsWith('@') ? fs.readFileSync(named.slice(1), 'utf8').trim() : named;
const adapter = await import(`./sdk_${era}.mjs`);
born();
note(`era ${era}`);
if (transport.startsWith('stdio')) {
  await adapter.serveStdio(transport.split('-')[1]);
} else {
  const handle = adapter.httpHandler();
  const server = http.createServer(async (request, response) => {
    if (new URL(request.url, 'http://x').pathname !== '/mcp') {
      response.writeHead(404).end();
      return;
    }
    const body = request.method === 'POST' ? await json(request) : undefined;
    noteGot(body, body ? undefined : request.method);
    await handle(request, response, body);
  });
  server.listen(Number(transport), '127.0.0.1', () => note(`port ${server.address().port}`));
  process.stdin.on('end', () => process.exit(0)).resume(); // whoever started us is gone
}
