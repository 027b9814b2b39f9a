package examples_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"hatchel/runtime/edge/auth/issuertest"
)

func TestOtherMachinesAreServedOnlyWhoIsKnown(t *testing.T) {
	t.Parallel()
	f := &folder{t: t, path: t.TempDir()}
	f.write("a.hcl", "tool \"t\" {\n  description = \"A tool.\"\n  text        = \"x\"\n}\n")
	out := f.run("serve", ".", "--listen", "0.0.0.0:0")
	if out.code != 2 || !strings.Contains(out.stderr, "declares no authentication") || !strings.Contains(out.stderr, "--insecure-no-auth") {
		t.Errorf("without auth: %d, %s", out.code, out.stderr)
	}
	s := f.serve("--insecure-no-auth", "--listen", "0.0.0.0:0")
	s.prints("WARNING: --insecure-no-auth: anyone who can reach 0.0.0.0:0 can call every tool")
	if got := s.call("t", map[string]any{}).text(); got != "x" {
		t.Errorf("it says %q", got)
	}

	f.write("auth.hcl", "auth {\n  api_key \"ci\" { sha256 = \""+fmt.Sprintf("%x", sha256.Sum256([]byte(robotKey)))+"\" }\n}\n")
	guarded := f.serve("--listen", "0.0.0.0:0")
	if res, answer := guarded.invoke("t", "X-API-Key", robotKey); res.StatusCode != 200 {
		t.Errorf("who is known: %d, %s", res.StatusCode, answer)
	}
	if res, _ := guarded.invoke("t"); res.StatusCode != 401 {
		t.Errorf("who is not: %d", res.StatusCode)
	}
	// A configuration that knows nobody any more opens the door to nobody.
	f.must(os.Remove(f.file("auth.hcl")))
	eventually(t, "the reload", func() bool {
		res, _ := guarded.invoke("t", "X-API-Key", robotKey)
		return res.StatusCode == 403
	})
	if res, _ := guarded.invoke("t"); res.StatusCode != 403 {
		t.Errorf("who is not known, without auth: %d", res.StatusCode)
	}
}

func TestCertificatesOfClientsAreCredentials(t *testing.T) {
	t.Parallel()
	f := &folder{t: t, path: t.TempDir()}
	ours := issuertest.NewAuthority(t, "ours")
	named := func(name string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}}
	}
	ours.Issue(f.path, "server", named("first"))
	ours.WriteOwn(f.path, "ca.pem")
	robot := ours.Issue(f.path, "robot", named("robot"))
	f.write("a.hcl", `
		tls {
		  cert      = "server.pem"
		  key       = "server.key"
		  client_ca = "ca.pem"
		}
		tool "t" {
		  description = "A tool."
		  text        = "${caller.subject}"
		}`)
	s := f.serve("--watch=false")
	pool := x509.NewCertPool()
	pool.AddCert(ours.Certificate)
	ask := func(shown ...tls.Certificate) (status int, answer, server string) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: shown}, ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(callOfT))
		if err != nil {
			t.Fatal(err)
		}
		for n, v := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "t"} {
			req.Header.Set(n, v)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b), res.TLS.PeerCertificates[0].Subject.CommonName
	}
	if status, answer, by := ask(robot); status != 200 || !strings.Contains(answer, `"text":"robot"`) || by != "first" {
		t.Errorf("with a certificate: %d, %s, by %s", status, answer, by)
	}
	if status, answer, _ := ask(); status != 401 {
		t.Errorf("without: %d, %s", status, answer)
	}
	ours.Issue(f.path, "server", named("second"))
	eventually(t, "the other certificate", func() bool {
		_, _, by := ask(robot)
		return by == "second"
	})

	f.must(os.Remove(f.file("server.key")))
	if out := f.run("validate", "."); out.code == 0 || !strings.Contains(out.stdout+out.stderr, "Invalid certificates") {
		t.Errorf("validate: %d, %s", out.code, out.stdout+out.stderr)
	}
}

const callOfT = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"t","arguments":{}}}`
