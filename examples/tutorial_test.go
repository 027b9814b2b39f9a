package examples_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"hatchel/internal/persontest"
	"hatchel/internal/proxytest"
	"hatchel/runtime/edge/auth/issuertest"
)

const (
	tutorialHost   = "tools.example"
	tutorialSecret = "the secret of the shop at the provider"
)

// tutorialPersons are those who use the server of docs/tutorial.md: its operator, and a colleague.
var tutorialPersons = map[string]map[string]any{
	"ada": {"groups": []string{"shop", "approvers"}, "email": "ada@company.example", "branch": "turin"},
	"bob": {"groups": []string{"shop", "refunds"}, "email": "bob@company.example", "branch": "lyon"},
}

var tutorialVariations = []variation{
	{regexp.MustCompile(`\?client_id=hatchel&\S+`), "?client_id=hatchel&…"},
	{regexp.MustCompile(`sign-ins/[0-9a-f]+`), "sign-ins/5e8f…"},
	{regexp.MustCompile(`hatchel/[\w-]+\.db`), "hatchel/shop-tools-5e8f….db"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-11-30T09:41:07Z"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`), "2026-11-30 09:41:07 UTC"},
	{regexp.MustCompile(`(expires +)2026-11-30 09:41:07`), "${1}2026-11-30 09:56:07"},
	{regexp.MustCompile(`\d+ records in 1 file, from 1 to \d+,`), "10 records in 1 file, from 1 to 10,"},
	{regexp.MustCompile(`in \d+m[\d.hms]*`), "in 14m59s"},
	{regexp.MustCompile(`just now|\b(\d+m)?\d+s ago`), "just now"},
	{regexp.MustCompile(`  [\d.]+m?s(\s)`), "  3.1ms$1"},
	{regexp.MustCompile(`\bkey=[A-Z0-9]{26}`), "key=ZIU7…"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "9d1f…"},
	{regexp.MustCompile(`(digest +)[0-9a-f]{32}`), "${1}4be1…"},
	{regexp.MustCompile(`(revision +)[0-9a-f]{12}…`), "${1}7dede784a673…"},
	{regexp.MustCompile(`client examples 1`), "client claude-code 2.1.197"},
	{regexp.MustCompile(`os:\w+`), "os:ada"},
}

// tutorial is what docs/tutorial.md needs beside PostgreSQL: Caddy with the configuration of the page, which has a
// certificate for the name of the server, an OpenID provider, a browser, and a colleague with Claude.
type tutorial struct {
	*folder
	provider  *issuertest.NPM
	transport *http.Transport // reaches the name of the server, as processes do by HTTPS_PROXY
	added     string          // the URL of the server that was added to Claude
	colleague chan string     // what the call of the colleague says
}

// useTutorial starts what the page needs, and has the commands of the page use it.
func (f *folder) useTutorial(p *page) {
	f.t.Helper()
	needs(f.t, "HATCHEL_TEST_PROVIDER")
	d := &tutorial{folder: f, colleague: make(chan string, 1)}
	d.provider = issuertest.OpenNPM(f.t, []object{{
		"client_id": "shop-tools", "client_secret": tutorialSecret, "scope": "openid offline_access",
		"redirect_uris": []string{"https://" + tutorialHost + "/oauth/callback"},
		"grant_types":   []string{"authorization_code", "refresh_token"},
	}}, issuertest.NPMSettings{})
	d.provider.SetPersons("ada", tutorialPersons)
	f.masks = append(f.masks, mask{d.provider.URL, "https://login.example"},
		mask{freeAddress(f.t), "127.0.0.1:9464"})
	f.variations = append(f.variations, tutorialVariations...)
	d.startCaddy(p)
	f.env = append(f.env, "PROVIDER_SECRET="+tutorialSecret, "BROWSER="+d.startBrowser())
	f.standIn = d.run
}

// startCaddy serves the name with the configuration that the page shows, and a certificate of an authority that it makes.
func (d *tutorial) startCaddy(p *page) {
	d.t.Helper()
	caddy, dir := needs(d.t, "HATCHEL_TEST_CADDY"), d.t.TempDir()
	address, config := freeAddress(d.t), filepath.Join(dir, "Caddyfile")
	_, port, err := net.SplitHostPort(address)
	d.must(err)
	global := "{\n\tadmin off\n\tauto_https disable_redirects\n\tlocal_certs\n\tskip_install_trust\n\tdefault_bind 127.0.0.1\n" +
		"\thttps_port " + port + "\n}\n"
	d.must(os.WriteFile(config, []byte(global+d.unmask(p.fences("caddy")[0].text)), 0o600))
	cmd, log := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", config), new(journal)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, log, log
	d.must(cmd.Start())
	d.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if d.t.Failed() {
			d.t.Logf("Caddy has written:\n%s", log)
		}
	})
	authority := filepath.Join(dir, ".local/share/caddy/pki/authorities/local/root.crt")
	roots := x509.NewCertPool()
	eventually(d.t, "Caddy has made its authority and listens", func() bool {
		text, _ := os.ReadFile(authority)
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		conn.Close()
		return roots.AppendCertsFromPEM(text)
	})
	tunnels := proxytest.StartTunnels(d.t, tutorialHost+":443", address)
	proxy, err := url.Parse(tunnels)
	d.must(err)
	d.transport = &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme == "https" {
				return proxy, nil
			}
			return nil, nil
		},
	}
	d.t.Cleanup(d.transport.CloseIdleConnections)
	d.env = append(d.env, "HTTPS_PROXY="+tunnels, "SSL_CERT_FILE="+authority)
}

// startBrowser returns a program that opens addresses as a person who signs in.
func (d *tutorial) startBrowser() string {
	d.t.Helper()
	dir := d.t.TempDir()
	pipe, program := filepath.Join(dir, "pipe"), filepath.Join(dir, "browser")
	d.must(syscall.Mkfifo(pipe, 0o600))
	d.must(os.WriteFile(program, []byte("#!/bin/sh\necho \"$1\" > "+pipe+"\n"), 0o700))
	opened, err := os.OpenFile(pipe, os.O_RDWR, 0)
	d.must(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(opened); lines.Scan(); {
			if _, err := persontest.New(d.transport).Visit(d.t.Context(), lines.Text()); err != nil {
				d.t.Errorf("%s: %v", lines.Text(), err)
			}
		}
	}()
	d.t.Cleanup(func() {
		opened.Close()
		<-done
	})
	return program
}

// run runs a line of the page. Claude is one of the official clients. It uses a server that it starts when that is added,
// and one at a URL as the colleague, who signs in and asks for a refund, which waits for an approval. When that is given,
// the call ends before the next line is run.
func (d *tutorial) run(line string) string {
	d.t.Helper()
	switch added, command, _ := strings.Cut(line, " -- "); {
	case strings.HasPrefix(added, "claude mcp add ") && command != "":
		c := d.connect(&sdk.CommandTransport{Command: d.shellCommand("exec " + command), TerminateDuration: maxWait}, "2025-11-25")
		if orders := said(c.call("list_orders", object{})); !strings.Contains(orders, "Chloé") || strings.Contains(orders, "Bruno") {
			d.t.Errorf("the operator reads %s", orders)
		}
		return ""
	case strings.HasPrefix(added, "claude mcp add "):
		d.added = added[strings.LastIndex(added, " ")+1:]
		return ""
	case strings.HasPrefix(added, "claude mcp login "):
		d.askAsColleague(d.added)
		return ""
	case strings.HasPrefix(added, "claude "):
		return ""
	}
	printed := d.shell(line)
	switch {
	case strings.HasPrefix(line, "sed -i "):
		eventually(d.t, "the reload waits", func() bool { return strings.Contains(d.served.String(), "reload held by its lock") })
	case strings.HasPrefix(line, "hatchel approvals approve "):
		if says := <-d.colleague; says != "Refunded 20 euros to Ada." {
			d.t.Errorf("the call of the colleague says %q", says)
		}
	}
	return printed
}

func (d *tutorial) askAsColleague(endpoint string) {
	d.t.Helper()
	d.provider.SetPersons("bob", tutorialPersons)
	web := &http.Client{Transport: d.transport}
	config := &auth.AuthorizationCodeHandlerConfig{RedirectURL: "http://127.0.0.1:1/callback", Client: web}
	config.AuthorizationCodeFetcher = fetchCode(persontest.New(d.transport))
	config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		ClientName: "Claude", RedirectURIs: []string{config.RedirectURL}, TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"},
	}}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	d.must(err)
	c := d.connect(&sdk.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler, HTTPClient: web}, "2025-11-25")
	orders := said(c.call("list_orders", object{}))
	if !strings.Contains(orders, "Chloé") || strings.Contains(orders, "Bruno") {
		d.t.Errorf("the colleague in Lyon reads %s", orders)
	}
	go func() {
		result, err := c.CallTool(d.t.Context(), &sdk.CallToolParams{Name: "refund_order", Arguments: object{"id": 1, "amount": 20}})
		if err != nil {
			d.colleague <- err.Error()
			return
		}
		d.colleague <- said(result)
	}()
	eventually(d.t, "the call of the colleague waits for an approval", func() bool {
		var pending []struct{ ID string }
		_ = json.Unmarshal([]byte(d.shell("hatchel approvals list --json")), &pending)
		if len(pending) == 1 {
			d.masks = append(d.masks, mask{pending[0].ID, "06GZWYPB0HJEAJNZ"})
		}
		return len(pending) == 1
	})
}
