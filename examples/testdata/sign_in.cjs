// A session of an official TypeScript client that signs in: it prints the address that a person opens to standard error,
// and waits for the browser. It prints what the tool who says, and what was asked of the authorization server.
//
//   sign_in.cjs PACKAGE URL OPTIONS
//
// OPTIONS is a JSON object: id, of a declared client; document, its URL; port, to which the browser comes back; scope;
// withoutResource.
"use strict";
const http = require("node:http");

const [pack, address, text] = process.argv.slice(2);
const options = JSON.parse(text);
const url = new URL(address);

function open(provider) {
  const me = { name: "guest", version: "1.0.0" };
  if (pack === "client") {
    const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
    return { client: new Client(me), transport: new StreamableHTTPClientTransport(url, { authProvider: provider }) };
  }
  const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
  return { client: new Client(me), transport: new StreamableHTTPClientTransport(url, { authProvider: provider }) };
}

// The browser comes back to this server.
const server = http.createServer();
const answered = new Promise((resolve) => {
  server.on("request", (request, response) => {
    response.end("You can close this page.");
    resolve(new URL(request.url, "http://127.0.0.1").searchParams);
  });
});

server.listen(options.port ?? 0, "127.0.0.1", async () => {
  const redirect = `http://127.0.0.1:${server.address().port}/callback`;
  const kept = options.id ? { client: { client_id: options.id } } : {};
  let asked;
  const provider = {
    redirectUrl: redirect,
    clientMetadataUrl: options.document,
    clientMetadata: {
      client_name: "TypeScript guest", redirect_uris: [redirect], token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], scope: options.scope,
    },
    state: () => "a state",
    clientInformation: () => kept.client,
    saveClientInformation: (client) => { kept.client = client; },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => { kept.tokens = tokens; },
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
    redirectToAuthorization: (to) => {
      asked = Object.fromEntries(to.searchParams);
      console.error(to.href);
    },
  };
  if (options.withoutResource) provider.validateResourceURL = async () => undefined;
  try {
    let { client, transport } = open(provider);
    await client.connect(transport).catch((err) => {
      if (err.name !== "UnauthorizedError" && !/unauthorized/i.test(err.message)) throw err;
    });
    const answer = await answered;
    if (pack === "client") await transport.finishAuth(answer);
    else await transport.finishAuth(answer.get("code"));
    ({ client, transport } = open(provider));
    await client.connect(transport);
    // The token ends now: the client refreshes it.
    const before = kept.tokens.access_token;
    kept.tokens.access_token = "ended";
    const result = await client.callTool({ name: "who", arguments: {} });
    console.log(JSON.stringify({
      says: result.content[0].text, id: asked.client_id, resource: asked.resource ?? "", state: answer.get("state"),
      refreshed: kept.tokens.access_token !== before && kept.tokens.access_token !== "ended",
    }));
    await client.close();
  } catch (err) {
    console.error(err);
    process.exitCode = 1;
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
