package examples_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/internal/persontest"
	"hatchel/internal/sampletest"
	"hatchel/runtime"
	edge "hatchel/runtime/edge/server"
	programs "hatchel/runtime/edge/signin/client"
	"hatchel/runtime/observe/logging"
)

// serveWithDocuments serves a folder in this process, at an address. The hosts of client ID documents, which the program
// looks for on the internet alone, are a handler.
func (f *folder) serveWithDocuments(address string, handler http.HandlerFunc) {
	f.t.Helper()
	web := httptest.NewTLSServer(handler)
	f.t.Cleanup(web.Close)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	log := slog.New(slog.DiscardHandler)
	build := runtime.Build{
		Set: all.Set(), Dir: f.path, Home: f.path, AuditLogs: new(runtime.AuditLogs), SignIn: true, Log: log,
		Documents: programs.NewDocuments(programs.DocumentsOptions{
			Log: log, Roots: roots, Now: time.Now,
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, web.Listener.Addr().String())
			},
		}),
	}
	env := map[string]string{}
	for _, entry := range f.env {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	getenv := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	host := runtime.NewHost(f.t.Context(), runtime.HostOptions{Load: hcl.Options{Getenv: getenv}, Build: build})
	f.t.Cleanup(host.Close)
	text := []byte(f.read("main.hcl"))
	if diags := host.Load(f.t.Context(), fstest.MapFS{"main.hcl": {Data: text}}); diags.HasErrors() {
		var printed strings.Builder
		diags.Print(&printed, map[string][]byte{"main.hcl": text})
		f.t.Fatal(printed.String())
	}
	listener, err := net.Listen("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	served := &http.Server{Handler: edge.New(edge.Options{
		Host: host, Reloader: &edge.Reloader{Host: host, Log: log}, Log: logging.New(io.Discard, logging.Text, slog.LevelError),
	})}
	go served.Serve(listener)
	f.t.Cleanup(func() { served.Close() })
}

// Clients that others have written are known by the document that their id is the address of. Nobody registers them.
func TestOfficialClientsSignInByTheirDocument(t *testing.T) {
	typescript, remote := strings.Fields(needs(t, "HATCHEL_TEST_TYPESCRIPT")), strings.Fields(needs(t, "HATCHEL_TEST_MCP_REMOTE"))
	inspector := strings.Fields(needs(t, "HATCHEL_TEST_INSPECTOR"))
	t.Parallel()
	const host = "example.com" // of the certificate of httptest
	const id = "https://" + host + "/program.json"
	f, url := signInFolder(t, `documents = ["`+host+`"]`)
	f.serveWithDocuments(url, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(object{
			"client_id": id, "client_name": "A program", "token_endpoint_auth_method": "none",
			"grant_types": []string{"authorization_code", "refresh_token"},
			"redirect_uris": []string{
				"http://127.0.0.1/callback", "http://127.0.0.1/oauth/callback", "http://localhost/oauth/callback",
			},
		})
	})
	script, err := filepath.Abs("testdata/sign_in.cjs")
	if err != nil {
		t.Fatal(err)
	}
	// Each signs in as the person and returns what the tool who says, with more around it.
	signIn := func(program string, person *persontest.Person) (says string, err error) {
		command := func(words ...string) *exec.Cmd {
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Dir = f.path
			cmd.Env = append(f.command().Env, "HOME="+t.TempDir(), "MCP_AUTO_OPEN_ENABLED=true", "MCP_REMOTE_CONFIG_DIR="+t.TempDir())
			return cmd
		}
		switch program {
		case "go":
			config := &auth.AuthorizationCodeHandlerConfig{
				RedirectURL:                    "http://127.0.0.1:1/callback",
				ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: id},
				AuthorizationCodeFetcher:       fetchCode(person),
			}
			handler, err := auth.NewAuthorizationCodeHandler(config)
			if err != nil {
				return "", err
			}
			c := f.connect(&sdk.StreamableClientTransport{Endpoint: url + "/mcp", OAuthHandler: handler}, eras[0])
			return said(c.call("who", object{})), nil
		case "mcp-remote":
			cmd := command(slices.Concat(remote, []string{url + "/mcp", "--client-metadata-url", id})...)
			c := f.connect(&sdk.CommandTransport{Command: printing(t, cmd, person), TerminateDuration: maxWait}, eras[0])
			return said(c.call("who", object{})), nil
		case "inspector":
			stdout, stderr, err := follow(t, person, command(slices.Concat(inspector, []string{
				url + "/mcp", "--transport", "http", "--client-metadata-url", id, "--method", "tools/call", "--tool-name", "who",
			})...))
			return stdout + stderr, err
		}
		stdout, stderr, err := follow(t, person, command(slices.Concat(typescript, []string{
			script, program, url + "/mcp", `{"document": "` + id + `"}`,
		})...))
		return stdout + stderr, err
	}
	for _, program := range sampletest.Of(t, 2, []string{"sdk", "client", "go", "mcp-remote", "inspector"}) {
		person := persontest.New(nil)
		says, err := signIn(program, person)
		if err != nil || !strings.Contains(says, whoSays) {
			t.Errorf("%s: %v, %s%+v", program, err, says, person.Pages)
		}
		if len(person.Pages) == 0 || !strings.Contains(person.Pages[0].Text, host) || !strings.Contains(person.Pages[0].Text, "A program") {
			t.Errorf("%s: the page does not show whose document it is: %+v", program, person.Pages)
		}
	}
}
