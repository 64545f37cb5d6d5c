// Serves folders at 127.0.0.1.
import {createReadStream, existsSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import path from 'node:path';

const kTypes = {
  '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json',
  '.map': 'application/json', '.mjs': 'text/javascript', '.wasm': 'application/wasm',
};

// `folders`: URL prefix -> folder. {url, close()}
export async function serve(folders) {
  const server = createServer((request, response) => {
    const {pathname} = new URL(request.url, 'http://127.0.0.1');
    const prefix = Object.keys(folders).sort((a, b) => b.length - a.length).find(each => pathname.startsWith(each));
    const below = path.normalize(pathname.slice(prefix.length) || 'index.html');
    const file = path.join(folders[prefix], below);
    if (below.startsWith('..') || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {'content-type': kTypes[path.extname(file)] || 'application/octet-stream'});
    createReadStream(file).pipe(response);
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
