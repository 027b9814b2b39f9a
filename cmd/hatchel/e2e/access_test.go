package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// startConfig starts a process with a configuration. $ADA, $EVE and $OPS are replaced by the digests of
// keys.
func startConfig(t *testing.T, config string, flags ...string) (r *replica, dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"ada", "eve", "ops"} {
		sum := sha256.Sum256([]byte(apiKeyOf(name)))
		config = strings.ReplaceAll(config, "$"+strings.ToUpper(name), hex.EncodeToString(sum[:]))
	}
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return startReplica(t, dir, "", flags...), dir
}

// readHealth returns the members of /readyz that a caller sees.
func readHealth(t *testing.T, r *replica, key string, header ...string) (members map[string]any) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, r.url+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		q.Header.Set("X-Api-Key", apiKeyOf(key))
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %v: %s", res.Status, err, body)
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
	}
	return members
}

func TestHealthIsShownToWhomTheServerAllowsIt(t *testing.T) {
	t.Parallel()
	r, _ := startConfig(t, `
auth {
  api_key "ada" {
    sha256 = "$ADA"
    groups = ["monitoring"]
  }
  api_key "eve" { sha256 = "$EVE" }
  api_key "ops" {
    sha256 = "$OPS"
    groups = ["admin"]
  }
}
server {
  health { allow = "'monitoring' in caller.groups" }
}
connection "sqlite" "books" { file = "books.db" }
tool "count" {
  description = "Count."
  sql "books" { query = "SELECT 1 AS n" }
}
`)
	seen := readHealth(t, r, "ada")
	connections, _ := seen["connections"].([]any)
	if len(seen) != 4 || seen["ready"] != true || seen["stale"] != false || seen["revision"] == "" || len(connections) != 1 {
		t.Errorf("monitoring sees %v", seen)
	}
	if all := readHealth(t, r, "ops"); all["diagnostics"] == nil || all["revision"] != seen["revision"] {
		t.Errorf("an operator sees %v", all)
	}
	for _, name := range []string{"eve", ""} {
		if seen := readHealth(t, r, name); seen != nil {
			t.Errorf("%q sees %v", name, seen)
		}
	}
}

// TestAClientBehindNginxIsKnownByItsAddress sends calls from two addresses of this machine through the
// nginx that docs/running.md shows.
func TestAClientBehindNginxIsKnownByItsAddress(t *testing.T) {
	t.Parallel()
	r, dir := startConfig(t, `
server {
  trusted_proxies {
    addresses = ["127.0.0.1"]
    header    = "x-forwarded-for"
  }
}
audit { file = "audit.jsonl" }
tool "plain" {
  description = "Answer."
  text        = "plain"
  limit { rate = "1/h" }
}
`)
	url := startNginx(t, []*replica{r, r, r})
	from := func(address string) error {
		c := newProtocolClient(url, false)
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		c.transport.DialContext = dialer.DialContext
		c.forwardedFor = "192.0.2.66" // which nginx does not believe
		defer c.transport.CloseIdleConnections()
		_, err := c.call("plain")
		return err
	}
	for _, address := range []string{"127.0.0.2", "127.0.0.3"} {
		if err := from(address); err != nil {
			t.Errorf("the first call of %s: %v", address, err)
		}
	}
	if err := from("127.0.0.2"); err == nil || !strings.Contains(err.Error(), "Too many calls") {
		t.Errorf("the second call of an address: %v", err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil || strings.Count(string(log), `"remote":"127.0.0.2"`) != 2 || strings.Count(string(log), `"remote":"127.0.0.3"`) != 1 {
		t.Errorf("%v: the audit log is\n%s", err, log)
	}
	if seen := readHealth(t, r, "", "X-Forwarded-For", "127.0.0.1"); seen != nil {
		t.Errorf("a forwarded request counts as one of this machine: %v", seen)
	}
}

func TestKeysRotateUnderOneName(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(apiKeyOf("fay")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := startConfig(t, `
secret "mounted" { file = "`+file+`" }
auth {
  api_key "prometheus" {
    groups = ["admin"]
    digest { sha256 = "$ADA" }
    digest { sha256 = "$EVE" }
    digest {
      sha256  = "$OPS"
      expires = "2020-01-01T00:00:00Z"
    }
  }
  api_key "mounted" {
    secret = secret.mounted
    groups = ["admin"]
  }
}
tool "plain" {
  description = "Answer."
  text        = "plain"
}
`)
	for _, name := range []string{"ada", "eve", "fay"} {
		if readHealth(t, r, name) == nil {
			t.Errorf("%s is not an operator", name)
		}
	}
	accepts := func(name string) bool {
		q, err := http.NewRequest(http.MethodGet, r.url+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Api-Key", apiKeyOf(name))
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	if accepts("ops") {
		t.Error("an expired key is accepted")
	}
	if err := os.WriteFile(file, []byte(apiKeyOf("gus")), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return accepts("gus") && !accepts("fay") })
}
