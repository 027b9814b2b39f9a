package hcl_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// places are where a value is sent under a name that the place has; % is the expression of the value.
var places = map[string]string{
	"bearer":        "connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\nbearer = %\n}\n}",
	"basic":         "connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\nbasic = { username = \"u\", password = % }\n}\n}",
	"auth header":   "connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\nheader = { X-Shop = % }\n}\n}",
	"auth query":    "connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\nquery = { appid = % }\n}\n}",
	"client secret": "connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\noauth2 {\ntoken_url = \"https://a.example/t\"\nclient_id = \"c\"\nclient_secret = %\n}\n}\n}",
	"oauth2 params": "connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\noauth2 {\ntoken_url = \"https://a.example/t\"\nclient_id = \"c\"\nparams = { password = % }\n}\n}\n}",
	"headers":       "connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nheaders = { X-Api-Key = % }\n}",
	"api key":       "auth {\napi_key \"ci\" { secret = % }\n}",
	"webhook":       "webhook \"w\" {\nurl = \"https://a.example/\"\nsecret = %\n}",
	"telemetry":     "telemetry {\notlp {\nheaders = { x-api-key = % }\n}\n}",
	"shell env":     "connection \"shell\" \"c\" {\nenv = { DB_PASSWORD = % }\n}",
	"header":        toolWith("http \"https\" {\nget = \"https://a.example/\"\nheaders = { Authorization = % }\n}"),
	"cookie":        toolWith("http {\nget = \"https://a.example/\"\nheaders = { Cookie = % }\n}"),
	"query":         toolWith("http {\nget = \"https://a.example/\"\nquery = { access_token = % }\n}"),
	"form":          toolWith("http {\npost = \"https://a.example/\"\nform = { client_secret = % }\n}"),
	"json":          toolWith("http {\npost = \"https://a.example/\"\njson = { user = { password = % }, q = input.q }\n}"),
	"json list":     toolWith("http {\npost = \"https://a.example/\"\njson = [{ apiKey = % }]\n}"),
	"jsonencode":    toolWith("http {\npost = \"https://a.example/\"\nbody = jsonencode({ password = % })\n}"),
	"env":           toolWith("shell {\ncommand = [\"true\"]\nenv = { API_TOKEN = % }\n}"),
	"merged":        toolWith("http {\nget = \"https://a.example/\"\nheaders = merge({ X-Api-Key = % }, { X-Q = input.q })\n}"),
	"conditional":   toolWith("http {\nget = \"https://a.example/\"\nheaders = { X-Api-Key = input.q == \"a\" ? % : null }\n}"),
	"fallback":      toolWith("http {\nget = \"https://a.example/\"\nheaders = { X-Api-Key = coalesce(input.token, %) }\n}"),
	"tool local":    toolWith("locals {\nh = { X-Api-Key = %, X-Q = input.q }\n}\nhttp {\nget = \"https://a.example/\"\nheaders = local.h\n}"),
}

func toolWith(body string) string {
	body = strings.ReplaceAll(body, `http "https" {`, "http {")
	return "tool \"t\" {\ndescription = \"d\"\ninput \"q\" { type = string }\ninput \"token\" { type = optional(string) }\n" +
		body + "\n}\n"
}

// paths are how a text comes to a place: declarations, and the expression there. % is the text.
var paths = map[string][2]string{
	"direct":          {"", `"%"`},
	"local":           {"locals {\nv = \"%\"\n}\n", "local.v"},
	"nested local":    {"locals {\na = { b = [\"%\"] }\nv = local.a.b[0]\n}\n", "local.v"},
	"default":         {"variable \"v\" { default = \"%\" }\n", "var.v"},
	"interpolation":   {"locals {\nv = \"%\"\n}\n", `"Bearer ${local.v}"`},
	"format":          {"", `format("Bearer %s", "%")`},
	"join":            {"", `join("", ["%", ""])`},
	"base64":          {"", `base64encode("user:%")`},
	"concat":          {"", `concat(["%"], [])[0]`},
	"file":            {"", `file("f.txt")`},
	"trimmed file":    {"", `trimspace(file("f.txt"))`},
	"conditional":     {"", `true ? "%" : ""`},
	"parentheses":     {"", `("%")`},
	"lookup":          {"locals {\nm = { a = \"%\" }\n}\n", `lookup(local.m, "a", "")`},
	"index":           {"locals {\nm = { a = \"%\" }\n}\n", `local.m["a"]`},
	"for expression":  {"", `[for x in ["%"] : x][0]`},
	"local of file":   {"locals {\nv = file(\"f.txt\")\n}\n", "local.v"},
	"base64 and file": {"", `base64encode(file("f.txt"))`},
	"heredoc":         {"", "<<-E\n%\nE\n"},
}

func loadText(t *testing.T, src, file string, opts Options) (*Config, Diagnostics) {
	t.Helper()
	fsys := fstest.MapFS{"a.hcl": {Data: []byte(src)}, "f.txt": {Data: []byte(file)}}
	return Load(fsys, all.Set().Kinds(), opts)
}

// A credential is refused wherever it is sent and however it comes there, and what is printed does not have it.
func TestALiteralCredentialIsRefused(t *testing.T) {
	const secret = "staple-horse-42-battery"
	for place, block := range places {
		for path, parts := range paths {
			t.Run(place+"/"+path, func(t *testing.T) {
				fill := func(s string) string {
					return strings.ReplaceAll(strings.ReplaceAll(s, "%s", "\x01"), "%", secret)
				}
				src := fill(parts[0]) + strings.ReplaceAll(block, "%", fill(parts[1]))
				src = strings.ReplaceAll(src, "\x01", "%s")
				if path == "heredoc" && (strings.Contains(block, "% }") || !strings.Contains(block, "%\n")) {
					return // a heredoc ends its line
				}
				config, diags := loadText(t, src, secret, Options{})
				if n := countRefused(diags); n != 1 {
					t.Errorf("%d refusals of\n%s\n%s", n, src, printed(t, diags, config.Sources))
				}
				if text := string(printed(t, diags, config.Sources)); strings.Contains(text, secret) {
					t.Errorf("the credential is printed:\n%s", text)
				}
			})
		}
	}
}

func countRefused(diags Diagnostics) (n int) {
	for _, d := range diags {
		if d.Summary == "Literal credential" {
			n++
		}
	}
	return n
}

// What the operator gives, a secret and an input are no literals.
func TestAValueThatIsNotWrittenIsNoLiteralCredential(t *testing.T) {
	for place, block := range places {
		for path, parts := range map[string][2]string{
			"secret":        {"secret \"v\" { env = \"V\" }\n", "secret.v"},
			"scheme":        {"secret \"v\" { env = \"V\" }\n", `"Bearer ${secret.v}"`},
			"basic":         {"secret \"v\" { env = \"V\" }\n", `"Basic ${base64encode("user1:${secret.v}")}"`},
			"local":         {"secret \"v\" { env = \"V\" }\nlocals {\nv = secret.v\n}\n", "local.v"},
			"variable":      {"variable \"v\" { type = string }\n", "var.v"},
			"given default": {"variable \"v\" { default = \"staple-horse-42-battery\" }\n", "var.v"},
			"empty":         {"", `""`},
			"none":          {"", `"none"`},
		} {
			src := parts[0] + strings.ReplaceAll(block, "%", parts[1])
			opts := Options{Getenv: func(name string) (string, bool) { return "sixteen-characters-and-more-0", name == "V" }}
			if path == "variable" || path == "given default" {
				opts.Vars = map[string]string{"v": "sixteen-characters-and-more-0"}
			}
			if config, diags := loadText(t, src, "", opts); countRefused(diags) > 0 {
				t.Errorf("%s, %s is refused:\n%s\n%s", place, path, src, printed(t, diags, config.Sources))
			}
		}
	}
}

// A known form is refused in any argument.
func TestAKnownFormIsRefusedInAnyArgument(t *testing.T) {
	forms := []string{
		"sk_live_51H8abcDEF0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAIOSFODNN7EXAMPLE",
		"glpat-0123456789abcdefghij", "xoxb-123456789012-abcdefghijkl", "AIzaSyA-0123456789abcdefghijklmnopqrstu",
		"npm_abcdefghijklmnopqrstuvwxyz0123456789", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
		`-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----\n`,
		"https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx",
		"postgres://app:hunter2@db.example/shop", "https://user:pass@a.example/x",
	}
	for name, src := range map[string]string{
		"description":      toolWith("text = \"x\"\n") + "tool \"u\" {\ndescription = \"Use %.\"\ntext = \"x\"\n}",
		"text":             toolWith(`text = "Use %."`),
		"type description": "tool \"t\" {\ndescription = \"d\"\ninput \"q\" { type = string(\"Such as %.\") }\ntext = \"x\"\n}",
		"default":          "tool \"t\" {\ndescription = \"d\"\ninput \"q\" { type = optional(string, \"%\") }\ntext = \"x\"\n}",
		"variable":         "variable \"v\" { default = \"%\" }\n" + toolWith(`text = var.v`),
		"sql":              "connection \"sqlite\" \"db\" { file = \"x.db\" }\n" + toolWith("sql \"db\" { query = \"SELECT '%' AS a\" }"),
		"init":             "connection \"sqlite\" \"db\" {\nfile = \"x.db\"\ninit = [\"ATTACH '%' AS a\"]\n}\n" + toolWith(`text = "x"`),
		"rule":             toolWith("text = \"x\"\n") + "policy \"p\" {\ntools = [\"t\"]\nallow = \"input.q != '%'\"\n}",
		"script":           toolWith("shell {\nscript = \"echo %\"\n}"),
		"word":             toolWith("shell {\ncommand = [\"echo\", \"%\"]\n}"),
		"stdin":            toolWith("shell {\ncommand = [\"cat\"]\nstdin = \"%\"\n}"),
		"template":         toolWith(`text = "${input.q} %"`),
		"function":         toolWith(`text = upper("a") == "A" ? format("a%s", " %") : ""`),
		"json":             toolWith("http {\npost = \"https://a.example/\"\njson = { note = \"%\" }\n}"),
	} {
		for _, form := range forms {
			src := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(src, "%s", "\x01"), "%", form), "\x01", "%s")
			config, diags := loadText(t, src, "", Options{})
			text := string(printed(t, diags, config.Sources))
			if n := countRefused(diags); n != 1 {
				t.Errorf("%s: %d refusals of %s\n%s", name, n, form, text)
			}
			if shown := strings.TrimPrefix(form, "https://"); strings.Contains(text, shown) {
				t.Errorf("%s: the credential is printed:\n%s", name, text)
			}
		}
	}
}

// Harmless names and values load: 60 names, each with ten values, in headers, queries, members, variables and options.
func TestHarmlessNamesAndValuesLoad(t *testing.T) {
	names := strings.Fields(`API_URL X-Sort-Key page_token nextPageToken max_tokens key primary_key sort_key public_key
		token_url author passport_no signed_url_ttl secretary keyboard monkey idempotency_key Idempotency-Key cache_key
		partition_key X-Request-Signature-Algorithm token_type grant_type password_policy password_file API_KEY_FILE
		auth authority authors tokenizer passage bypass compass two_pass secret_name key_id access_key_id query url sign
		design continuation_token X-Request-Id X-Tenant Accept-Language user_agent cookie_policy signature_version
		credential_type session_name design_key row_key hash_key foreign_key translation_key message_key start_token
		resume_token count_tokens author_key_type X-Trace-Id status`)
	values := []string{"id", "name", "created_at", "asc", "application/json", "hmac-sha256", "2024-01-01T00:00:00Z",
		"3f2504e0-4f89-11d3-9a0c-0305e82c3301", "https://a.example/path", "a sentence with words"}
	if n := len(names) * len(values); n < 500 {
		t.Fatalf("there are %d", n)
	}
	for _, name := range names {
		var headers, query, json, env, options strings.Builder
		for i, v := range values {
			fmt.Fprintf(&query, "%q = %q\n", fmt.Sprintf("%s%s", strings.Repeat("a-", i), name), v)
			fmt.Fprintf(&headers, "%q = %q\n", strings.ReplaceAll(fmt.Sprintf("X%d-%s", i, name), "_", "-"), v)
			fmt.Fprintf(&json, "%q = %q\n", fmt.Sprintf("%sa_%s", strings.Repeat("b_", i), name), v)
			fmt.Fprintf(&env, "%s = %q\n", strings.ReplaceAll(fmt.Sprintf("%sA_%s", strings.Repeat("B_", i), name), "-", "_"), v)
			fmt.Fprintf(&options, "%q, ", "--"+strings.ReplaceAll(name, "_", "-")+"="+v)
		}
		src := "variable \"v\" { default = {\n" + json.String() + "} }\n" +
			toolWith("http {\npost = \"https://a.example/\"\nheaders = {\n"+headers.String()+"}\nquery = {\n"+query.String()+
				"}\njson = {\n"+json.String()+"x = var.v\n}\n}") +
			"tool \"u\" {\ndescription = \"d\"\nshell {\ncommand = [\"true\", " + options.String() + "]\nenv = {\n" +
			env.String() + "}\n}\n}\n"
		if config, diags := loadText(t, src, "", Options{}); diags.HasErrors() {
			t.Errorf("%s:\n%s", name, printed(t, diags, config.Sources))
		}
	}
}

// Tests may have credentials of their own.
func TestATestMayHaveCredentials(t *testing.T) {
	src := toolWith("http {\nget = \"https://a.example/\"\n}") +
		"test \"x\" {\ncall \"t\" { q = \"ghp_abcdefghijklmnopqrstuvwxyz0123456789\" }\nmock \"http\" {\nbody = \"password=hunter2\"\n}\n}\n"
	if config, diags := loadText(t, src, "", Options{Tests: true}); countRefused(diags) > 0 {
		t.Errorf("%s", printed(t, diags, config.Sources))
	}
}
