// An OpenID provider of npm (oauth2-mock-server) on a free port, which prints its URL and that of its faults. Its
// argument is the module. A PUT to the latter, an object, sets claims of the ID tokens that follow; a null removes one.
// It ends when its standard input does.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const { OAuth2Server } = await import(pathToFileURL(process.argv[2]).href);
let faults = {};
const provider = new OAuth2Server();
await provider.issuer.keys.generate("RS256");
provider.service.on("beforeTokenSigning", ({ payload }) => {
  if (!payload.aud) return; // of an access token
  for (const [name, value] of Object.entries(faults)) {
    if (value === null) delete payload[name];
    else payload[name] = value;
  }
});
await provider.start(0, "localhost");

const control = createServer(async (request, response) => {
  faults = JSON.parse(Buffer.concat(await request.toArray()).toString());
  response.end();
});
control.listen(0, "127.0.0.1", () => console.log(`${provider.issuer.url} http://127.0.0.1:${control.address().port}`));
process.stdin.on("end", () => process.exit()).resume();
