// An OpenID provider of npm (oidc-provider) on a free port, which prints its URL. Its arguments are the module, the
// clients as JSON, and settings as JSON. It ends when its standard input does.
//
// Whoever asks is signed in at once as the current person, who consents to everything; with the setting form, there is a
// page with the field "login". With the setting userinfo, ID tokens have no claims of persons but sub, as it is the
// default of the module. With the setting opaque, access tokens for a resource are no JWTs. The setting issuer is where a
// proxy serves the provider, and token the path of its token endpoint, which then issues tokens on behalf of people, too,
// as Entra does. A PUT of {"current": SUBJECT, "persons": {SUBJECT: CLAIMS}} to /persons replaces who has an account.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , path, clients, settings = "{}"] = process.argv;
const { default: Provider } = await import(pathToFileURL(path).href);
const { form = false, userinfo = false, opaque = false, issuer: proxied, token } = JSON.parse(settings);

// page is where people sign in.
const page = `<!doctype html>
<html lang="en">
<title>Sign in to the provider</title>
<form method="post"><label>Account <input name="login" required></label> <button>Sign in</button></form>
</html>`;

let known = { current: "ada", persons: { ada: { groups: ["finance"], email: "ada@example.com", name: "Ada" } } };

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(proxied ?? url, {
    ...(token && { routes: { token } }),
    clients: JSON.parse(clients),
    scopes: ["openid", "offline_access", "read"],
    claims: { openid: ["sub", "groups", "email", "branch"], profile: ["name"] },
    conformIdTokenClaims: userinfo,
    rotateRefreshToken: true,
    enabledJWA: { clientAuthSigningAlgValues: ["RS256", "PS256", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"] },
    findAccount: (_, id) => known.persons[id] && { accountId: id, claims: () => ({ sub: id, ...known.persons[id] }) },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: { // access tokens for a resource are JWTs for it, or can be introspected
        enabled: true,
        // As at Entra, a scope of the client itself is for the client as a resource.
        defaultResource: (ctx, client, granted) =>
          granted ?? (ctx.oidc.params.scope?.includes(ownScope(client)) ? `api://${client.clientId}` : undefined),
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource, client) => ({
          audience: resource, scope: `read ${ownScope(client)}`, accessTokenFormat: opaque ? "opaque" : "jwt",
          accessTokenTTL: 600,
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
  provider.proxy = proxied !== undefined;
  if (token) {
    issueOnBehalf(provider, url);
  }
  provider.on("server_error", (_, err) => console.error(err));
  const callback = provider.callback();
  server.on("request", async (request, response) => {
    try {
      if (request.url === "/persons") {
        known = JSON.parse(Buffer.concat(await request.toArray()).toString());
        response.end();
      } else if (request.url.startsWith("/interaction/")) {
        await interact(provider, request, response);
      } else {
        await callback(request, response);
      }
    } catch (err) {
      console.error(err);
      response.writeHead(500).end();
    }
  });
  console.log(url);
});
process.stdin.on("end", () => process.exit()).resume();

// ownScope is a scope of a client that is a resource, too.
function ownScope(client) {
  return `api://${client.clientId}/access_as_user`;
}

// interact answers what the provider would ask a person.
async function interact(provider, request, response) {
  const { prompt, params, grantId, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    if (form && request.method === "GET") {
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
      return response.end(page);
    }
    const body = Buffer.concat(await request.toArray()).toString();
    const accountId = form ? new URLSearchParams(body).get("login") : known.current;
    return provider.interactionFinished(request, response, known.persons[accountId]
      ? { login: { accountId } }
      : { error: "access_denied", error_description: "there is no such account" });
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(" "));
  grant.addOIDCClaims(prompt.details.missingOIDCClaims ?? []);
  for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(" "));
  }
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } }, {
    mergeWithLastSubmission: true,
  });
}

// issueOnBehalf adds the flow on-behalf-of of Entra: a client exchanges an access token of a person that is for itself
// for one of the resource in scope.
function issueOnBehalf(provider, url) {
  const require = createRequire(pathToFileURL(path).href);
  const { createRemoteJWKSet, jwtVerify } = require("jose");
  const keys = createRemoteJWKSet(new URL(`${url}/jwks`));
  const refuse = (ctx, error, number) => {
    ctx.status = 400;
    ctx.body = { error, error_codes: [number], error_description: `AADSTS${number}` };
  };
  const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
  provider.registerGrantType(grant, async (ctx) => {
    const { client, params } = ctx.oidc;
    if (params.requested_token_use !== "on_behalf_of") {
      return refuse(ctx, "invalid_request", 900144);
    }
    const end = params.scope.lastIndexOf("/");
    let person;
    try {
      const verified = await jwtVerify(params.assertion, keys, { issuer: provider.issuer, typ: "at+jwt" });
      person = verified.payload;
    } catch {
      return refuse(ctx, "invalid_grant", 50013);
    }
    if (person.aud !== `api://${client.clientId}`) {
      return refuse(ctx, "invalid_grant", 500131);
    }
    const issued = new provider.AccessToken({ accountId: person.sub, client, scope: params.scope.slice(end + 1) });
    issued.resourceServer = new provider.ResourceServer(params.scope.slice(0, end), {
      scope: params.scope.slice(end + 1), accessTokenFormat: "jwt", accessTokenTTL: 600, jwt: { sign: { alg: "RS256" } },
    });
    const text = await issued.save();
    ctx.body = { access_token: text, expires_in: 600, token_type: "Bearer", scope: params.scope };
  }, ["assertion", "requested_token_use", "scope"]);
}
