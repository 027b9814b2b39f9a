package examples_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// proxy starts a reverse proxy with TLS that keeps Host, and returns its origin under a name.
func (s *server) proxy(name string) (origin string) {
	s.t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	p := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", target.Host, r.In.Host
		r.SetXForwarded()
	}})
	s.t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return strings.Replace(p.URL, "127.0.0.1", name, 1)
}

// TestConsoleInABrowserIsUsedUnderAName begins at the address of the server, as a person does who knows only that.
func TestConsoleInABrowserIsUsedUnderAName(t *testing.T) {
	t.Parallel()
	needs(t, "HATCHEL_TEST_CHROMIUM")
	f := example(t, "console")
	f.args = []string{"--state", f.file("state.db")}
	f.write("shop.hcl", strings.Replace(f.read("shop.hcl"), "server {", "server {\n  hosts = [\"tools.example\"]", 1))
	s := f.serve()
	b := openBrowser(t, s.proxy("tools.example"), "tools.example")
	b.open("/")
	b.checkAccessible("/")
	if endpoint := run(b, chromedp.Text("#endpoint")); endpoint != b.origin+"/mcp" {
		t.Errorf("the endpoint is %s", endpoint)
	}
	if colours := eval[string](b, `getComputedStyle(document.querySelector("pre")).borderTopStyle`); colours != "solid" {
		t.Errorf("the page has no style: %s", colours)
	}
	b.do(chromedp.Click("#console"))
	b.await(`location.pathname === "/console/sign-in"`)
	b.do(chromedp.SendKeys("#key", "wrong"), chromedp.Click("#key-form button"))
	b.await(`document.querySelector("#error") !== null`)
	b.forget("401")
	b.do(chromedp.SendKeys("#key", evasKey), chromedp.Click("#key-form button"))
	b.await(`location.pathname === "/console/"`)
	b.open("/console/calls")
	b.await(`document.querySelector("#summary") !== null`)
	person{s, bobsKey}.asks("tools/call", `"name":"order","arguments":{"id":7},`)
	b.await(`document.querySelector("#calls tbody").innerText.includes("order")`)
	b.do(chromedp.Click("#who"), chromedp.Click("#sign-out button:not([type=button])"))
	b.await(`location.pathname === "/console/sign-in"`)
}

// pageClient uses a server from a page with the official client, in sessions and without, and shows what it has seen.
const pageClient = `
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
window.use = async (address, key) => {
  const seen = [];
  for (const mode of [{ pin: "2026-07-28" }, "legacy"]) {
    const client = new Client({ name: "page", version: "1.0.0" }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers: { Authorization: "Bearer " + key } } });
    try {
      await client.connect(transport);
      const { tools } = await client.listTools();
      const { content } = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
      seen.push(tools.map((t) => t.name).join() + " " + content[0].text + " " + Boolean(transport.sessionId));
      await client.close();
    } catch {
      seen.push("failed");
    }
  }
  return seen.join("; ");
};
`

// TestAClientInABrowserUsesTheServerFromAListedOrigin is what an inspector does that connects directly.
func TestAClientInABrowserUsesTheServerFromAListedOrigin(t *testing.T) {
	t.Parallel()
	node := strings.Fields(needs(t, "HATCHEL_TEST_TYPESCRIPT"))
	f := &folder{t: t, path: t.TempDir()}
	f.write("client.js", pageClient)
	const bundle = `require("esbuild").buildSync({entryPoints: [process.argv[1]], nodePaths: [process.env.NODE_PATH], bundle: true,
		format: "iife", platform: "browser", outfile: process.argv[2]})`
	cmd := exec.Command(node[0], append(node[1:], "-e", bundle, f.file("client.js"), f.file("page.js"))...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script, err := os.ReadFile(f.file("page.js"))
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><link rel=icon href=data:,><title>client</title><script>%s</script>", script)
	}))
	defer pages.Close()
	config := `
server {
  cors { origins = ["` + pages.URL + `"] }
}
auth {
  api_key "eva" { sha256 = "` + fmt.Sprintf("%x", sha256.Sum256([]byte(evasKey))) + `" }
}
tool "greet" {
  description = "Greet."
  input "name" { type = string }
  text = "Hello, ${input.name}!"
}
`
	f.write("a.hcl", config)
	s := f.serve()
	b := openBrowser(t, "http://127.0.0.1")
	use := func() string {
		b.open(pages.URL)
		const call = `window.use(%q, %q)`
		return run(b, chromedp.Evaluate[string](fmt.Sprintf(call, s.url, evasKey), chromedp.EvalAwaitPromise))
	}
	if got, want := use(), "greet Hello, Ada! false; greet Hello, Ada! true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f.write("a.hcl", strings.Replace(config, pages.URL, "https://other.example", 1))
	s.prints("configuration reloaded")
	if got := use(); got != "failed; failed" {
		t.Errorf("after the origin was taken away: %s", got)
	}
	b.forget("CORS policy")
	b.forget("net::ERR_FAILED")
	b.forget("401")
}
