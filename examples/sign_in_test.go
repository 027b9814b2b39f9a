package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"hatchel/internal/persontest"
	"hatchel/internal/sampletest"
)

// signedIn runs a command whose person signs in by a browser when it asks for that. It returns what it prints, and the
// pages that the person has seen.
func (f *folder) signedIn(person *persontest.Person, args ...string) (stdout, stderr string, err error) {
	f.t.Helper()
	return follow(f.t, person, f.command(args...))
}

// follow runs a command, and has the person open the address that it prints to standard error.
func follow(t *testing.T, person *persontest.Person, cmd *exec.Cmd) (stdout, stderr string, err error) {
	t.Helper()
	var out, all bytes.Buffer
	cmd.Stdout, cmd.WaitDelay = &out, time.Second
	printed, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(maxWait, func() { cmd.Process.Kill() })
	defer late.Stop()
	visitPrinted(t, person, io.TeeReader(printed, &all))
	err = cmd.Wait()
	return out.String(), all.String(), err
}

// authorization matches an address at which a person signs in.
var authorization = regexp.MustCompile(`https?://\S+[?&]response_type=code\S*`)

// visitPrinted has the person open the first address of a sign-in that is printed, and reads on to the end.
func visitPrinted(t *testing.T, person *persontest.Person, printed io.Reader) {
	lines, visited := bufio.NewScanner(printed), false
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		address := authorization.FindString(lines.Text())
		if visited || address == "" {
			continue
		}
		visited = true
		if _, err := person.Visit(t.Context(), address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// freeAddress returns an address of this machine on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The program is a client of its own at a provider that others have written: it registers itself, and its token is for
// the server alone.
func TestTheProgramSignsInAtAnAuthorizationServerOfOthers(t *testing.T) {
	needs(t, "HATCHEL_TEST_PROVIDER")
	t.Parallel()
	issuer := openProvider(t, []any{})
	f := &folder{t: t, path: t.TempDir()}
	f.env = append(f.env, "XDG_STATE_HOME="+f.file("state"))
	listen := freeAddress(t)
	f.write("main.hcl", `
auth {
  jwt {
    issuer   = "`+issuer+`"
    audience = "http://`+listen+`/mcp"
  }
}
tool "who" {
  description = "Who calls."
  text        = caller.subject
}
`)
	f.serve("--listen", listen)
	person := persontest.New(nil)
	stdout, stderr, err := f.signedIn(person, "call", "--server", "http://"+listen, "who")
	if err != nil || stdout != "ada\n" || len(person.Pages) != 1 || !strings.Contains(person.Pages[0].Text, "You are signed in") {
		t.Fatalf("%v, %s%s, %+v", err, stdout, stderr, person.Pages)
	}
	if stdout, stderr, err = f.signedIn(person, "list", "--server", "http://"+listen); err != nil || !strings.Contains(stdout, "who") || stderr != "" {
		t.Errorf("%v, %s%s", err, stdout, stderr)
	}
	if out, err := f.command("sign-out", "--server", "http://"+listen).CombinedOutput(); err != nil || string(out) != "signed out\n" {
		t.Errorf("%v, %s", err, out)
	}
	f.env = append(f.env, "CI=true")
	if _, stderr, err = f.signedIn(person, "list", "--server", "http://"+listen); err == nil || !strings.Contains(stderr, "set HATCHEL_KEY") {
		t.Errorf("%v, %s", err, stderr)
	}
}

// signInFolder returns a folder whose server people sign in to at the OpenID provider of npm, and its address.
func signInFolder(t *testing.T, more string) (f *folder, address string) {
	t.Helper()
	needs(t, "HATCHEL_TEST_PROVIDER")
	listen := freeAddress(t)
	address = "http://" + listen
	issuer := openProvider(t, []object{{
		"client_id": "tools", "client_secret": "the secret of the tools at the provider", "scope": "openid offline_access",
		"redirect_uris": []string{address + "/oauth/callback"}, "grant_types": []string{"authorization_code", "refresh_token"},
	}})
	f = &folder{t: t, path: t.TempDir(), args: []string{"--listen", listen}}
	f.env = append(f.env, "XDG_STATE_HOME="+f.file("state"), "PROVIDER_SECRET=the secret of the tools at the provider",
		"STATE_KEY=0123456789abcdef0123456789abcdef")
	f.write("main.hcl", `
secret "provider" { env = "PROVIDER_SECRET" }
secret "state" { env = "STATE_KEY" }
state {
  sqlite = "state.db"
  key    = secret.state
}
auth {
  sign_in {
    url           = "`+address+`"
    provider      = "`+issuer+`"
    client_id     = "tools"
    client_secret = secret.provider
    scopes        = ["openid", "offline_access"]
    claims        = ["email"]
    session       = "720h"
    register { redirects = ["loopback"] }
    client "by-hand" { redirects = ["http://127.0.0.1/callback", "http://localhost/oauth/callback", "http://127.0.0.1/oauth/callback"] }
    `+more+`
  }
}
tool "who" {
  description = "Who calls, and by which program."
  text        = "${caller.subject} ${join(",", caller.groups)} ${caller.claims.email}"
}
`)
	return f, address
}

const whoSays = "ada finance ada@example.com"

// The clients that others have written sign in without a client id by hand: each by registering itself, and as a client
// that the configuration declares.
func TestOfficialClientsSignIn(t *testing.T) {
	needsTypeScript(t)
	t.Parallel()
	f, address := signInFolder(t, "")
	f.serve()
	type way struct{ pack, options, id, resource string }
	ways := []way{
		{"sdk", `{}`, "", address + "/mcp"},
		{"client", `{}`, "", address + "/mcp"},
		{"sdk", `{"withoutResource": true}`, "", ""},
		{"client", `{"withoutResource": true}`, "", ""},
		{"sdk", `{"id": "by-hand"}`, "by-hand", address + "/mcp"},
		{"client", `{"id": "by-hand"}`, "by-hand", address + "/mcp"},
	}
	for _, w := range sampletest.Of(t, 2, ways) {
		script, err := filepath.Abs("testdata/sign_in.cjs")
		if err != nil {
			t.Fatal(err)
		}
		words := append(strings.Fields(os.Getenv("HATCHEL_TEST_TYPESCRIPT")), script, w.pack, address+"/mcp", w.options)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir, cmd.Env = f.path, f.command().Env
		person := persontest.New(nil)
		stdout, stderr, err := follow(t, person, cmd)
		var seen struct {
			Says, ID, Resource, State string
			Refreshed                 bool
		}
		if err := errors.Join(err, json.Unmarshal([]byte(stdout), &seen)); err != nil {
			t.Errorf("%+v: %v\n%s%s%+v", w, err, stdout, stderr, person.Pages)
			continue
		}
		if seen.Says != whoSays || seen.Resource != w.resource || seen.State != "a state" || !seen.Refreshed || w.id != "" && seen.ID != w.id {
			t.Errorf("%+v: %+v", w, seen)
		}
	}
}

// fetchCode returns what has a person open the address of a sign-in, and reads the address at which nobody listens at
// the end.
func fetchCode(person *persontest.Person) auth.AuthorizationCodeFetcher {
	return func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		_, err := person.Visit(ctx, args.URL)
		at, found := errors.AsType[*url.Error](err)
		if !found {
			return nil, fmt.Errorf("the browser did not come back: %v", err)
		}
		back, err := url.Parse(at.URL)
		if err != nil {
			return nil, err
		}
		q := back.Query()
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
}

// Clients in Go sign in with the handler of the official package.
func TestOfficialGoClientSignsIn(t *testing.T) {
	t.Parallel()
	f, address := signInFolder(t, "")
	f.serve()
	for name, identify := range map[string]func(c *auth.AuthorizationCodeHandlerConfig){
		"registration": func(c *auth.AuthorizationCodeHandlerConfig) {
			c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "Go guest", RedirectURIs: []string{c.RedirectURL}, TokenEndpointAuthMethod: "none",
				GrantTypes: []string{"authorization_code", "refresh_token"},
			}}
		},
		"declaration": func(c *auth.AuthorizationCodeHandlerConfig) {
			c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: "by-hand"}
		},
	} {
		person := persontest.New(nil)
		config := &auth.AuthorizationCodeHandlerConfig{RedirectURL: "http://127.0.0.1:1/callback"}
		config.AuthorizationCodeFetcher = fetchCode(person)
		identify(config)
		handler, err := auth.NewAuthorizationCodeHandler(config)
		if err != nil {
			t.Fatal(err)
		}
		for _, era := range eras {
			c := f.connect(&sdk.StreamableClientTransport{Endpoint: address + "/mcp", OAuthHandler: handler}, era)
			if got := said(c.call("who", object{})); got != whoSays {
				t.Errorf("%s, %s: %s", name, era, got)
			}
		}
	}
}

// The program has an id of its own at its servers: nobody registers it.
func TestTheProgramSignsInAtItsOwnServer(t *testing.T) {
	t.Parallel()
	f, address := signInFolder(t, `scope "pay" { description = "Pay" }`)
	f.write("pay.hcl", `
tool "pay" {
  description = "Pays."
  scopes      = ["pay"]
  text        = "paid by ${caller.claims.client_id}"
}
events {}
`)
	s := f.serve()
	person := persontest.New(nil)
	call := func(want string, args ...string) string {
		t.Helper()
		stdout, stderr, err := f.signedIn(person, append(args, "--server", address)...)
		if err != nil || !strings.Contains(stdout, want) {
			t.Fatalf("%q: %v, %s%s%+v", args, err, stdout, stderr, person.Pages)
		}
		return stderr
	}
	if stderr := call(whoSays, "call", "who"); !strings.Contains(stderr, "client_id=hatchel&") {
		t.Error(stderr)
	}
	for _, args := range [][]string{{"list"}, {"call", "pay"}, {"events", "--own"}} {
		if stderr := call("", args...); strings.Contains(stderr, "requires a sign-in") {
			t.Errorf("%q: %s", args, stderr)
		}
	}
	call("signed out", "sign-out")
	denier := persontest.New(nil)
	denier.Decision = "deny"
	if _, stderr, err := f.signedIn(denier, "list", "--server", address); err == nil || !strings.Contains(stderr, "the sign-in was refused: access_denied") {
		t.Errorf("%v, %s", err, stderr)
	}
	if log := s.log.String(); strings.Contains(log, "code=") || strings.Contains(log, "eyJ") {
		t.Errorf("the log has a code or a token:\n%s", log)
	}
}

// printing has the person open the address that a command prints to standard error while it runs.
func printing(t *testing.T, cmd *exec.Cmd, person *persontest.Person) *exec.Cmd {
	t.Helper()
	printed, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var visited sync.WaitGroup
	visited.Go(func() { visitPrinted(t, person, printed) })
	t.Cleanup(visited.Wait)
	return cmd
}

// mcp-remote makes a stdio server of a remote one. The client behind it knows nothing of a sign-in.
func TestMCPRemoteSignsIn(t *testing.T) {
	words := strings.Fields(needs(t, "HATCHEL_TEST_MCP_REMOTE"))
	t.Parallel()
	f, address := signInFolder(t, "")
	f.serve()
	for _, options := range sampletest.Of(t, 1, [][]string{{}, {"--static-oauth-client-info", `{"client_id":"by-hand"}`}}) {
		cmd := exec.Command(words[0], slices.Concat(words[1:], []string{address + "/mcp"}, options)...)
		cmd.Dir = f.path
		cmd.Env = append(f.command().Env, "MCP_REMOTE_CONFIG_DIR="+t.TempDir())
		c := f.connect(&sdk.CommandTransport{Command: printing(t, cmd, persontest.New(nil)), TerminateDuration: maxWait}, "2025-11-25")
		if got := said(c.call("who", object{})); got != whoSays {
			t.Errorf("%q: %s", options, got)
		}
	}
}

// The inspector's command line opens the consent page as a person would in its browser.
func TestOfficialInspectorSignsIn(t *testing.T) {
	words := strings.Fields(needs(t, "HATCHEL_TEST_INSPECTOR"))
	t.Parallel()
	f, address := signInFolder(t, "")
	f.serve()
	for _, options := range sampletest.Of(t, 1, [][]string{{}, {"--client-id", "by-hand"}}) {
		back := "http://" + freeAddress(t) + "/oauth/callback"
		args := slices.Concat(words[1:], []string{
			address + "/mcp", "--transport", "http", "--callback-url", back, "--method", "tools/call", "--tool-name", "who",
		}, options)
		cmd := exec.CommandContext(t.Context(), words[0], args...)
		cmd.Dir = f.path
		cmd.Env = append(f.command().Env, "HOME="+t.TempDir(), "MCP_AUTO_OPEN_ENABLED=true")
		person := persontest.New(nil)
		stdout, stderr, err := follow(t, person, cmd)
		if err != nil || !strings.Contains(stdout, whoSays) {
			t.Errorf("%q: %v\n%s%s%+v", options, err, stdout, stderr, person.Pages)
		}
	}
}
