package surface_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/surface"
)

// signInArguments are the arguments of sign_in, introspection and the keys of the state: for each a value, another one,
// and the classes of a change to that, and back.
var signInArguments = []struct{ path, from, to, forth, back string }{
	{"sign_in.url", `"https://tools.example"`, `"https://other.example"`, "breaking widening", "breaking widening"},
	{"sign_in.provider", `"https://id.example"`, `"https://idp.example"`, "breaking widening", "breaking widening"},
	{"sign_in.client_id", `"tools"`, `"tools2"`, "breaking widening", "breaking widening"},
	{"sign_in.client_secret", `secret.a`, `secret.b`, "behaviour widening", "behaviour widening"},
	{"sign_in.key", `secret.a`, `secret.b`, "behaviour widening", "behaviour widening"},
	{"sign_in.assertion_file", `"/run/a"`, `"/run/b"`, "behaviour", "behaviour"},
	{"sign_in.client_auth", ``, `"body"`, "behaviour", "behaviour"},
	{"sign_in.key_id", `"a"`, `"b"`, "behaviour", "behaviour"},
	{"sign_in.key_algorithm", `"RS256"`, `"PS256"`, "behaviour", "behaviour"},
	{"sign_in.certificate", `"a.pem"`, `"b.pem"`, "behaviour", "behaviour"},
	{"sign_in.assertion_audience", `"https://id.example"`, `"https://id.example/t"`, "behaviour", "behaviour"},
	{"sign_in.assertion_type", `"urn:a"`, `"urn:b"`, "behaviour", "behaviour"},
	{"sign_in.scopes", ``, `["openid", "profile", "offline_access"]`, "widening", "breaking"},
	{"sign_in.subject_claim", ``, `"oid"`, "breaking widening", "breaking widening"},
	{"sign_in.groups_claim", ``, `"roles"`, "breaking widening", "breaking widening"},
	{"sign_in.group_names", `{ g1 = "finance" }`, `{ g1 = "finance", g2 = "board" }`, "widening", "breaking"},
	{"sign_in.group_names", `{ g1 = "finance" }`, `{ g2 = "finance" }`, "breaking widening", "breaking widening"},
	{"sign_in.group_names", `{ g1 = "finance" }`, `{ g1 = "board" }`, "breaking widening", "breaking widening"},
	{"sign_in.group_names", ``, `{ g1 = "finance" }`, "breaking widening", "breaking widening"},
	{"sign_in.group_names", `local.names`, `merge(local.names, { g2 = "board" })`, "breaking widening", "breaking widening"},
	{"sign_in.group_names", `{ g1 = "finance" }`, `{}`, "breaking", "widening"},
	{"sign_in.claims", `["tenant"]`, `["tenant", "email"]`, "widening", "breaking"},
	{"sign_in.allow", `"'a' in caller.groups"`, `"'a' in caller.groups || 'b' in caller.groups"`, "widening", "breaking"},
	{"sign_in.allow", `"'a' in caller.groups"`, ``, "widening", "breaking"},
	{"sign_in.allow", `"true"`, ``, "", ""}, // the same, in other words
	{"sign_in.session", ``, `"720m"`, "", ""},
	{"sign_in.clock_skew", ``, `"1m"`, "", ""},
	{"sign_in.session", ``, `"11h"`, "breaking", "widening"},
	{"sign_in.session", `"1h"`, `"2h"`, "widening", "breaking"},
	{"sign_in.documents", ``, `["claude.ai"]`, "widening", "breaking"},
	{"sign_in.documents", `["claude.ai"]`, `["*"]`, "widening", "breaking"},
	{"sign_in.resources", ``, `["https://other.example/mcp"]`, "widening", "breaking"},
	{"sign_in.clock_skew", ``, `"30s"`, "breaking", "widening"},
	{"sign_in.algorithms", ``, `["RS256"]`, "breaking", "widening"},
	{"sign_in.register.redirects", `["loopback"]`, `["loopback", "https://claude.ai"]`, "widening", "breaking"},
	{"sign_in.client.redirects", `["http://localhost:1/a"]`, `["http://localhost:1/a", "https://a.example/a"]`, "widening", "breaking"},
	{"sign_in.client.secret", `secret.a`, `secret.b`, "breaking widening", "breaking widening"},
	{"sign_in.client.secret", `secret.a`, ``, "widening", "breaking"},
	{"sign_in.client.keys", `"https://a.example/k"`, `"https://b.example/k"`, "breaking widening", "breaking widening"},
	{"sign_in.client.keys", ``, `"https://b.example/k"`, "breaking", "widening"},
	{"sign_in.scope.description", `"Pay"`, `"Read"`, "behaviour", "behaviour"},
	{"sign_in.scope.allow", `"'a' in caller.groups"`, ``, "widening", "breaking"},
	{"sign_in.assertions.issuer", ``, `"https://other.example"`, "breaking widening", "breaking widening"},
	{"sign_in.assertions.clients", `["https://a.example/c"]`, `["https://a.example/c", "https://a.example/d"]`, "widening", "breaking"},
	{"sign_in.assertions.public", ``, `true`, "widening", "breaking"},
	{"introspection.url", `"https://id.example/i"`, `"https://id.example/j"`, "breaking widening", "breaking widening"},
	{"introspection.audience", `"a"`, `"b"`, "breaking widening", "breaking widening"},
	{"introspection.subject_claim", ``, `"username"`, "breaking widening", "breaking widening"},
	{"introspection.groups_claim", ``, `"roles"`, "breaking widening", "breaking widening"},
	{"introspection.required_scopes", ``, `["tools"]`, "breaking", "widening"},
	{"introspection.client_id", `"tools"`, `"tools2"`, "behaviour", "behaviour"},
	{"introspection.client_secret", `secret.a`, `secret.b`, "behaviour widening", "behaviour widening"},
	{"introspection.key", `secret.a`, `secret.b`, "behaviour widening", "behaviour widening"},
	{"introspection.assertion_file", `"/run/a"`, `"/run/b"`, "behaviour", "behaviour"},
	{"introspection.client_auth", ``, `"body"`, "behaviour", "behaviour"},
	{"introspection.key_id", `"a"`, `"b"`, "behaviour", "behaviour"},
	{"introspection.key_algorithm", `"RS256"`, `"PS256"`, "behaviour", "behaviour"},
	{"introspection.certificate", `"a.pem"`, `"b.pem"`, "behaviour", "behaviour"},
	{"introspection.assertion_audience", `"https://id.example"`, `"https://id.example/t"`, "behaviour", "behaviour"},
	{"introspection.assertion_type", `"urn:a"`, `"urn:b"`, "behaviour", "behaviour"},
	{"state.key", `secret.a`, `secret.b`, "behaviour widening", "behaviour widening"},
	{"state.key", ``, `secret.b`, "behaviour widening", "widening"},
	{"state.previous_key", ``, `secret.b`, "behaviour widening", "behaviour widening"},
}

// signInDefaults are the arguments that the blocks need, by path.
var signInDefaults = map[string]string{
	"sign_in.url": `"https://tools.example"`, "sign_in.provider": `"https://id.example"`, "sign_in.client_id": `"tools"`,
	"sign_in.client_secret": `secret.a`, "sign_in.claims": `["tenant"]`, "sign_in.register.redirects": `["loopback"]`,
	"sign_in.client.redirects": `["http://localhost:1/a"]`, "sign_in.scope.description": `"Pay"`,
	"sign_in.documents": `["a.example"]`, "sign_in.assertions.clients": `["https://a.example/c"]`,
	"introspection.url": `"https://id.example/i"`, "introspection.client_id": `"tools"`,
	"introspection.client_secret": `secret.a`, "introspection.audience": `"a"`, "state.key": `secret.a`,
	"state.sqlite": `"a.db"`,
}

// signInConfig is a configuration with all blocks, in which one argument has a value; none for "".
func signInConfig(path, value string) string {
	args := map[string]string{}
	for name, text := range signInDefaults {
		args[name] = text
	}
	if args[path] = value; path == "sign_in.documents" {
		delete(args, "sign_in.assertions.clients")
	}
	for _, block := range []string{"sign_in", "introspection"} { // which credential the argument belongs to
		switch strings.TrimPrefix(path, block+".") {
		case "key", "key_id", "key_algorithm", "certificate", "assertion_audience":
			delete(args, block+".client_secret")
			if args[block+".key"] == "" {
				args[block+".key"] = "secret.a"
			}
		case "assertion_file", "assertion_type":
			delete(args, block+".client_secret")
			if args[block+".assertion_file"] == "" {
				args[block+".assertion_file"] = `"/run/a"`
			}
		}
	}
	body := func(block string) (text string) {
		for _, name := range []string{"sqlite", "url", "provider", "client_id", "client_secret", "key", "assertion_file", "client_auth",
			"key_id", "key_algorithm", "certificate", "assertion_audience", "assertion_type", "previous_key", "scopes",
			"subject_claim", "groups_claim", "group_names", "claims", "allow", "session", "documents", "resources", "clock_skew",
			"algorithms", "redirects", "secret", "keys", "description", "issuer", "clients", "public", "audience",
			"required_scopes"} {
			if value := args[block+"."+name]; value != "" {
				text += name + " = " + value + "\n"
			}
		}
		return text
	}
	text := "secret \"a\" { env = \"A\" }\nsecret \"b\" { env = \"B\" }\nlocals { names = { g1 = \"finance\" } }\n" +
		"state {\n" + body("state") + "}\nauth {\nsign_in {\n" + body("sign_in") + "register {\n" + body("sign_in.register") +
		"}\nclient \"c\" {\n" + body("sign_in.client") + "}\nscope \"s\" {\n" + body("sign_in.scope") + "}\n"
	if path != "sign_in.documents" {
		text += "assertions {\n" + body("sign_in.assertions") + "}\n"
	}
	return text + "}\nintrospection {\n" + body("introspection") + "}\n}\n"
}

// TestEachArgumentOfSignInIsReviewed changes each argument: the lock has another text then, and the change has a class
// in both directions.
func TestEachArgumentOfSignInIsReviewed(t *testing.T) {
	var tried []string
	for _, a := range signInArguments {
		tried = append(tried, a.path)
		from, to := surfaceOfText(t, signInConfig(a.path, a.from)), surfaceOfText(t, signInConfig(a.path, a.to))
		if bytes.Equal(from.Lock(), to.Lock()) {
			t.Errorf("%s: the locks of %s and %s are the same", a.path, a.from, a.to)
		}
		if got := classesOf(surface.Compare(from, to)); got != a.forth {
			t.Errorf("%s: %s to %s is %s, not %s: %v", a.path, a.from, a.to, got, a.forth, surface.Compare(from, to).Changes)
		}
		if got := classesOf(surface.Compare(to, from)); got != a.back {
			t.Errorf("%s: %s to %s is %s, not %s: %v", a.path, a.to, a.from, got, a.back, surface.Compare(to, from).Changes)
		}
	}
	for _, path := range argumentsOf(t) {
		if !slices.Contains(tried, path) {
			t.Errorf("the argument %s has no class", path)
		}
	}
}

// classesOf are the classes of the changes.
func classesOf(d *surface.Diff) string {
	var names []string
	for _, c := range d.Changes {
		names = append(names, c.Class.String())
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// argumentsOf are the paths of the arguments that the language has in these blocks.
func argumentsOf(t *testing.T) (paths []string) {
	var walk func(at string, spec decode.Spec)
	walk = func(at string, spec decode.Spec) {
		for _, f := range spec {
			if nested := f.Nested(); nested != nil {
				walk(at+f.Name+".", nested)
			} else {
				paths = append(paths, at+f.Name)
			}
		}
	}
	for _, ref := range hcl.Reference(all.Set().Kinds()) {
		for _, f := range ref.Spec {
			switch {
			case ref.Key == "auth" && (f.Name == "sign_in" || f.Name == "introspection"):
				walk(f.Name+".", f.Nested())
			case ref.Key == "state" && strings.HasSuffix(f.Name, "key"):
				paths = append(paths, "state."+f.Name)
			}
		}
	}
	if len(paths) < 40 {
		t.Fatalf("the language has %d arguments: %v", len(paths), paths)
	}
	return paths
}

// TestBlocksOfSignInAreReviewedAsAWhole adds and removes blocks.
func TestBlocksOfSignInAreReviewedAsAWhole(t *testing.T) {
	whole := signInConfig("", "")
	without := func(from, to string) string {
		before, rest, ok := strings.Cut(whole, from)
		_, after, also := strings.Cut(rest, to)
		if !ok || !also {
			t.Fatalf("there is no %q to %q", from, to)
		}
		return before + after
	}
	for name, text := range map[string]string{
		"sign_in": without("sign_in {", "\n}\n}\n"), "sign_in.register": without("register {", "}\n"),
		"sign_in.client c": without("client \"c\" {", "}\n"), "sign_in.scope s": without("scope \"s\" {", "}\n"),
		"sign_in.assertions":                 without("assertions {", "}\n"),
		"introspection https://id.example/i": without("introspection {", "}\n"),
	} {
		with, less := surfaceOfText(t, whole), surfaceOfText(t, text)
		for _, c := range []struct {
			from, to *surface.Surface
			want     string
		}{{less, with, "widening added: "}, {with, less, "breaking removed: "}} {
			var got []string
			for _, change := range surface.Compare(c.from, c.to).Changes {
				if change.Kind == "sign-in" {
					got = append(got, fmt.Sprint(change.Class, " ", change.Text))
				}
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want+strings.TrimPrefix(name, "sign_in.")) {
				t.Errorf("%s: %q, not %s", name, got, c.want)
			}
		}
	}
}

// TestADiffNamesWhatAppliesWithoutAnArgument looks for the default in the text of a change.
func TestADiffNamesWhatAppliesWithoutAnArgument(t *testing.T) {
	for _, c := range []struct{ path, to, want string }{
		{"sign_in.subject_claim", `"oid"`, `subject_claim "sub" → "oid"`},
		{"sign_in.groups_claim", `"roles"`, `groups_claim "groups" → "roles"`},
		{"sign_in.client_auth", `"body"`, `client_auth "basic" → "body"`},
		{"sign_in.assertions.issuer", `"https://other.example"`, `issuer that of the provider → "https://other.example"`},
		{"introspection.subject_claim", `"username"`, `subject_claim "sub" → "username"`},
	} {
		diff := surface.Compare(surfaceOfText(t, signInConfig(c.path, "")), surfaceOfText(t, signInConfig(c.path, c.to)))
		for _, change := range diff.Changes {
			if change.Text != c.want {
				t.Errorf("%s is %q, not %q", c.path, change.Text, c.want)
			}
		}
	}
}

// TestNoIdOfTheProviderIsInALock looks for the ids of the application and of groups in a lock.
func TestNoIdOfTheProviderIsInALock(t *testing.T) {
	text := signInConfig("sign_in.group_names", `{ "group-id-1" = "finance", "group.id.2" = "board" }`)
	text = strings.Replace(text, `client_id = "tools"`, `client_id = "application-id"`, 1)
	computed := strings.Replace(text, "group_names = {", "group_names = merge(local.names, {", 1)
	computed = strings.Replace(computed, "\"board\" }\n", "\"board\" })\n", 1)
	for _, text := range []string{text, computed} {
		lock := string(surfaceOfText(t, text).Lock())
		for _, id := range []string{"application-id", "group-id-1", "group.id.2"} {
			if strings.Contains(lock, id) {
				t.Errorf("the lock has %s", id)
			}
		}
	}
}
