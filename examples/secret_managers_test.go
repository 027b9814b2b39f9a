package examples_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// managerPrograms stand for the programs of secret managers. Each accepts the command of its recipe alone, and prints
// the file "value" of its home directory.
var managerPrograms = map[string]string{
	"vault": `[ "$VAULT_ADDR $*" = "https://vault.example:8200 kv get -mount=secret -field=token shop" ] &&
		exec cat "$HOME/value"`,
	"aws": `case "$*" in
		"secretsmanager get-secret-value --region eu-central-1 --secret-id shop/"*" --query SecretString --output text")
			exec cat "$HOME/value"
	esac
	exit 252`,
	"gcloud": `[ "$*" = "secrets versions access latest --secret=shop-token --project=shop-prod" ] &&
		exec cat "$HOME/value"`,
	"jq": `[ "$*" = "-er .password" ] && sed -n 's/.*"password":"\([^"]*\)".*/\1/p' | grep .`,
}

var ttlOfSecret = regexp.MustCompile(`(?m)^(\s+ttl\s+= )".*"$`)

// secretRecipe returns a folder with a configuration of the page about secret managers, whose commands are run again
// after a second. Its services have other addresses.
func secretRecipe(t *testing.T, text string, addresses ...string) *folder {
	t.Helper()
	f := &folder{t: t, path: t.TempDir(), args: []string{"--allow-secret-commands"}}
	f.must(os.Mkdir(f.file("bin"), 0o755))
	for name, script := range managerPrograms {
		f.write("bin/"+name, "#!/bin/sh\n"+script+"\n")
		f.must(os.Chmod(f.file("bin", name), 0o755))
	}
	f.env = []string{"PATH=" + f.file("bin") + ":" + os.Getenv("PATH")}
	text = f.withSecretFiles(ttlOfSecret.ReplaceAllString(text, `$1"1s"`), "the first value")
	f.write("tools.hcl", strings.NewReplacer(addresses...).Replace(text))
	f.write("value", "the first value")
	return f
}

// TestSecretsOfManagersAreFollowed serves each recipe with a bearer token, replaces the token, and takes it away.
func TestSecretsOfManagersAreFollowed(t *testing.T) {
	t.Parallel()
	recipes := 0
	for i, recipe := range readPage(t, "../docs/secrets.md").fences("hcl separate") {
		if !strings.Contains(recipe.text, "bearer = ") {
			continue
		}
		recipes++
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			var sent atomic.Value // the token of the last request
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent.Store(r.Header.Get("Authorization"))
				w.Write([]byte(`{}`))
			}))
			t.Cleanup(shop.Close)
			f := secretRecipe(t, recipe.text, "https://shop.example", shop.URL)
			source, lost := f.file("value"), "is not renewed"
			if strings.Contains(recipe.text, "/run/secrets/") {
				source, lost = f.file("run/secrets/shop/token"), "is not available"
			}
			s := f.serve()
			sends := func(token string) bool {
				if r, err := s.send("list_orders", []byte("{}")); err != nil || r.Failed {
					t.Fatalf("%v %v", r, err)
				}
				return sent.Load() == "Bearer "+token
			}
			if !sends("the first value") {
				t.Errorf("the request has %q", sent.Load())
			}
			f.write("next", "the second value\n")
			f.must(os.Rename(f.file("next"), source))
			s.prints(`changed="list_orders connection http shop"`)
			if !sends("the second value") {
				t.Errorf("after the reload, the request has %q", sent.Load())
			}
			f.must(os.Remove(source))
			s.prints(lost)
			eventually(t, "the server reports that the secret is missing", func() bool {
				_, state := s.knock(http.MethodGet, "/readyz", "")
				return strings.Contains(state, `"stale": true`)
			})
			if !sends("the second value") {
				t.Errorf("without its source, the request has %q", sent.Load())
			}
		})
	}
	if recipes != 4 {
		t.Errorf("there are %d recipes", recipes)
	}
}

// TestAMemberOfASecretIsReadOrReported starts the recipe whose secret is a member of JSON, with it and without.
func TestAMemberOfASecretIsReadOrReported(t *testing.T) {
	t.Parallel()
	for _, recipe := range readPage(t, "../docs/secrets.md").fences("hcl separate") {
		if !strings.Contains(recipe.text, "jq ") {
			continue
		}
		f := secretRecipe(t, recipe.text, "db.example", "127.0.0.1:1")
		f.write("value", `{"username":"orders","password":"the password"}`)
		f.serve()
		f.write("value", `{"username":"orders"}`)
		const want = `The secret "orders_password" is not available: its command sh fails`
		if o := f.run("call", "count_orders"); o.code == 0 || !strings.Contains(o.stderr, want) {
			t.Errorf("%d %s", o.code, o.stderr)
		}
		return
	}
	t.Error("no recipe reads a member")
}

// TestAChangedPasswordIsUsed changes the password in the URLs of the page: in the database first, and in the file first.
func TestAChangedPasswordIsUsed(t *testing.T) {
	t.Parallel()
	super := needs(t, "HATCHEL_TEST_POSTGRES_SUPERUSER")
	address, err := url.Parse(super)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("rotated_%d", os.Getpid())
	f := &folder{t: t, path: t.TempDir()}
	recipes := readPage(t, "../docs/secrets.md").fences("hcl separate")
	recipe := recipes[slices.IndexFunc(recipes, func(b fence) bool { return strings.Contains(b.text, `secret "own"`) })]
	f.write("tools.hcl", f.withSecretFiles(recipe.text, "unknown"))
	admin := f.desk(super)
	f.removeAtBothEnds(func() {
		dropGuide(f, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		dropGuide(f, admin, "DROP ROLE IF EXISTS "+name)
	})
	mustExec(t, admin, "CREATE ROLE "+name+" LOGIN IN ROLE passwords")
	mustExec(t, admin, "CREATE DATABASE "+name+" OWNER "+name)
	set := func(password string) { mustExec(t, admin, "ALTER ROLE "+name+" PASSWORD '"+password+"'") }
	write := func(password string) {
		u := url.URL{Scheme: "postgres", Host: address.Host, User: url.UserPassword(name, password), Path: "/" + name,
			RawQuery: "sslmode=require"}
		for _, file := range []string{"shop", "hatchel"} {
			f.write("next", u.String())
			f.must(os.Rename(f.file("next"), f.file("run/secrets", file, "url")))
		}
	}
	disconnect := func() {
		mustExec(t, admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+name+"'")
	}
	set("one")
	write("one")
	address.Path = "/" + name
	mustExec(t, f.desk(address.String()), "CREATE TABLE orders (id integer); GRANT SELECT ON orders TO "+name)
	s := f.serve()
	works := func() {
		t.Helper()
		eventually(t, "connections are made with the new password", func() bool {
			r, err := s.send("count_orders", []byte("{}"))
			_, ready := s.knock(http.MethodGet, "/readyz", "")
			return err == nil && !r.Failed && strings.Contains(ready, `"stale": false`) && !strings.Contains(ready, `"ok": false`)
		})
	}
	works()
	set("two")
	write("two")
	s.prints("configuration reloaded")
	disconnect()
	works()
	write("three")
	s.prints("reload held by a database")
	if _, ready := s.knock(http.MethodGet, "/readyz", ""); !strings.Contains(ready, "rejects the user or the password") {
		t.Error(ready)
	}
	set("three")
	if r, answer := s.knock(http.MethodPost, "/admin/reload", ""); r.StatusCode != http.StatusOK {
		t.Error(answer)
	}
	disconnect()
	works()
	if o := f.run("audit", "--verify"); o.code != 0 {
		t.Errorf("%+v", o)
	}
}
