package http_test

import (
	"encoding/json"
	"fmt"
	"mime"
	"mime/multipart"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

func TestEveryVerb(t *testing.T) {
	s := serve(t, respond(`{}`))
	for _, verb := range []string{"get", "post", "put", "patch", "delete", "head"} {
		b := adaptertest.Bind(t, source(s.URL, "", "", fmt.Sprintf(`    %s = "/x"`, verb)))
		t.Run(verb+"/is sent without a body and cookies", func(t *testing.T) {
			if _, err := b.Do(t.Context(), `{}`); err != nil {
				t.Fatal(err)
			}
			r := s.last()
			if r.Method != strings.ToUpper(verb) || r.URL.Path != "/x" || r.body != "" || r.Header.Get("Content-Type") != "" {
				t.Errorf("%s %s %q %v", r.Method, r.URL, r.body, r.Header)
			}
			if r.Header.Get("User-Agent") != "hatchel/test" || r.Header.Get("Cookie") != "" {
				t.Errorf("headers %v", r.Header)
			}
		})
		t.Run(verb+"/declares its effects", func(t *testing.T) {
			e := b.Tool.Steps[0].Backend.Effects
			if e.ReadOnly != (verb == "get" || verb == "head") || e.Idempotent != (verb != "post" && verb != "patch") || e.OpenWorld {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestBodyIsEncodedFromValues(t *testing.T) {
	s := serve(t, respond(`{}`))
	const hostile = `x","admin":true,"y":"&a=b\r\n--`
	arguments := fmt.Sprintf(`{"v": %q}`, hostile)
	for _, verb := range []string{"post", "put", "patch", "delete", "get"} {
		for block, want := range map[string]string{
			`json = { n = 1234567890123456, v = input.v, none = null }`: `{"n":1234567890123456,"none":null,"v":"x\",\"admin\":true,\"y\":\"&a=b\\r\\n--"}`,
			`json = [1, "a"]`: `[1,"a"]`,
			`json = null`:     `null`,
			`form = { a = input.v, b = [1, true], c = null }`:                                                `a=x%22%2C%22admin%22%3Atrue%2C%22y%22%3A%22%26a%3Db%5Cr%5Cn--&b=1&b=true`,
			`form = brackets({ o = { v = input.v, list = [for i in range(11) : { n = i }] }, none = null })`: "o%5Blist%5D%5B0%5D%5Bn%5D=0&o%5Blist%5D%5B1%5D%5Bn%5D=1&o%5Blist%5D%5B2%5D%5Bn%5D=2&o%5Blist%5D%5B3%5D%5Bn%5D=3&o%5Blist%5D%5B4%5D%5Bn%5D=4&o%5Blist%5D%5B5%5D%5Bn%5D=5&o%5Blist%5D%5B6%5D%5Bn%5D=6&o%5Blist%5D%5B7%5D%5Bn%5D=7&o%5Blist%5D%5B8%5D%5Bn%5D=8&o%5Blist%5D%5B9%5D%5Bn%5D=9&o%5Blist%5D%5B10%5D%5Bn%5D=10&o%5Bv%5D=x%22%2C%22admin%22%3Atrue%2C%22y%22%3A%22%26a%3Db%5Cr%5Cn--",
			`form = brackets({ ids = [2, 10] }, "[]")`:                                                       "ids%5B%5D=2&ids%5B%5D=10",
			`body = "v: ${input.v}"`:                                                                         "v: " + hostile,
		} {
			t.Run(verb+"/"+block, func(t *testing.T) {
				b := adaptertest.Bind(t, source(s.URL, "", `  input "v" { type = string }`, fmt.Sprintf("    %s = \"/x\"\n    %s", verb, block)))
				if _, err := b.Do(t.Context(), arguments); err != nil {
					t.Fatal(err)
				}
				if got := s.last(); got.body != want || got.ContentLength != int64(len(want)) {
					t.Errorf("sent %q", got.body)
				}
			})
		}
	}
}

func TestJSONLeavesOutReferencesToWhatIsAbsent(t *testing.T) {
	s := serve(t, respond(`{}`))
	const inputs = `  input "a" { type = optional(string) }
  input "b" { type = optional(nullable(string)) }
  input "c" { type = optional(nullable(string), null) }
  input "o" { type = object({ a = optional(string), b = optional(nullable(string)) }) }
  input "rows" { type = list(object({ a = optional(string) })) }
  locals {
    a = input.a
    b = (local.a)
  }`
	const empty = `{"o": {}, "rows": [{}, {"a": "x"}]}`
	for _, test := range []struct{ name, json, arguments, want string }{
		{"an input", `{ a = input.a, z = 1 }`, empty, `{"z":1}`},
		{"in parentheses and quotes", `{ a = (input.a), b = "${input.a}" }`, empty, `{}`},
		{"a member of an input", `{ a = input.o.a, b = input.o["b"] }`, empty, `{}`},
		{"through locals", `{ a = local.b }`, empty, `{}`},
		{"at depth", `{ a = { b = [{ a = input.a }] } }`, empty, `{"a":{"b":[{}]}}`},
		{"in an argument of merge", `merge({ a = "kept" }, { a = input.a })`, empty, `{"a":"kept"}`},
		{"in a branch", `input.a == null ? { a = input.a } : {}`, empty, `{}`},
		{"of the element of a loop", `[for r in input.rows : { a = r.a }]`, empty, `[{},{"a":"x"}]`},
		{"but a null that the type allows is sent", `{ b = input.b, c = input.c, o = input.o.b }`,
			`{"b": null, "o": {"b": null}, "rows": []}`, `{"b":null,"c":null,"o":null}`},
		{"a null where the type is optional is absent", `{ a = input.a }`, `{"a": null, "o": {}, "rows": []}`, `{}`},
		{"but not in a list", `[input.a]`, empty, `[null]`},
		{"but not in an object of a loop", `{ for k in ["a"] : k => input.a }`, empty, `{"a":null}`},
		{"but not in jsonencode", `jsonencode({ a = input.a })`, empty, `"{\"a\":null}"`},
		{"but not what is computed", `{ a = input.a == null ? null : input.a }`, empty, `{"a":null}`},
		{"but not the identity of the caller", `{ a = caller.subject }`, empty, `{"a":null}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := adaptertest.Bind(t, source(s.URL, "", inputs, "    post = \"/x\"\n    json = "+test.json))
			if _, err := b.Do(t.Context(), test.arguments); err != nil {
				t.Fatal(err)
			}
			if got := s.last(); got.body != test.want {
				t.Errorf("sent %s, want %s", got.body, test.want)
			}
		})
	}
}

func TestSegmentSendsItsSlashesEscaped(t *testing.T) {
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, source(s.URL, "", `  input "project" { type = string }`,
		`    get = "/projects/${segment(input.project)}/files/${segment("src/${input.project}")}"`))
	if _, err := b.Do(t.Context(), `{"project": "group/my project"}`); err != nil {
		t.Fatal(err)
	}
	if want := "/projects/group%2Fmy%20project/files/src%2Fgroup%2Fmy%20project"; s.last().RequestURI != want {
		t.Errorf("requested %s, want %s", s.last().RequestURI, want)
	}
	_, err := b.Do(t.Context(), `{"project": "group/../../admin"}`)
	wantPart(t, wantFault(t, err).Message, `is ".."`)
}

func TestMultipart(t *testing.T) {
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, source(s.URL, "", `  input "v" { type = string }`, `    post = "/x"
    multipart = {
      title = input.v
      tags  = ["a", "b"]
      raw   = base64bytes("/wA=")
      doc   = { content = "a,b\n", filename = "${input.v}.csv", type = "text/csv" }
    }`))
	if _, err := b.Do(t.Context(), `{"v": "a \"quoted\" name"}`); err != nil {
		t.Fatal(err)
	}
	r := s.last()
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(strings.NewReader(r.body), params["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sends strings as fields", func(t *testing.T) {
		if form.Value["title"][0] != `a "quoted" name` || len(form.Value["tags"]) != 2 {
			t.Errorf("fields %v", form.Value)
		}
	})
	t.Run("sends bytes as a file", func(t *testing.T) {
		if raw := form.File["raw"][0]; raw.Filename != "raw" || raw.Size != 2 {
			t.Errorf("file %+v", raw)
		}
	})
	t.Run("sends an object as a file with a name and a type", func(t *testing.T) {
		if doc := form.File["doc"][0]; doc.Filename != `a "quoted" name.csv` || doc.Header.Get("Content-Type") != "text/csv" {
			t.Errorf("file %+v", doc)
		}
	})
	t.Run("rejects control characters in a name", func(t *testing.T) {
		_, err := b.Do(t.Context(), `{"v": "a\r\nX: y"}`)
		wantPart(t, wantFault(t, err).Message, "control character")
	})
}

func TestHeaders(t *testing.T) {
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, source(s.URL, `  headers = { X-Team = "finance", X-Kind = "a" }
  auth {
    bearer = secret.key
  }`, `  input "v" { type = optional(string) }`, `    get = "/x"
    headers = { x-kind = ["b", "c"], X-Value = input.v }`))
	t.Run("of the block override those of the connection", func(t *testing.T) {
		if _, err := b.Do(t.Context(), `{"v": "é ok"}`); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"X-Team": "finance", "X-Kind": "b,c", "X-Value": "é ok", "Authorization": "Bearer s3cret-k3y",
		} {
			if got := strings.Join(s.last().Header.Values(name), ","); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
	t.Run("are omitted if they are null", func(t *testing.T) {
		if _, err := b.Do(t.Context(), `{}`); err != nil || s.last().Header["X-Value"] != nil {
			t.Errorf("%v, %v", err, s.last().Header)
		}
	})
	for _, bad := range []string{`a\r\nX-Admin: 1`, `a\nb`, `a\u0000b`} {
		t.Run("are rejected with control characters/"+bad, func(t *testing.T) {
			before := s.count()
			_, err := b.Do(t.Context(), `{"v": "`+bad+`"}`)
			wantPart(t, wantFault(t, err).Message, "the header X-Value must not contain a line break or another control character")
			if s.count() != before {
				t.Error("the rejected request was sent")
			}
		})
	}
}

func TestQueryParameters(t *testing.T) {
	s := serve(t, respond(`{}`))
	b := adaptertest.Bind(t, source(s.URL, "", `  input "v" { type = any }`, `    get = "/x"
    query = { v = input.v }`))
	t.Run("must not be objects", func(t *testing.T) {
		_, err := b.Do(t.Context(), `{"v": {"a": 1}}`)
		wantPart(t, wantFault(t, err).Message, "the query parameter v must be a string")
	})
	t.Run("are repeated for lists", func(t *testing.T) {
		if _, err := b.Do(t.Context(), `{"v": [1.5, "a b", true]}`); err != nil || s.last().URL.RawQuery != "v=1.5&v=a+b&v=true" {
			t.Errorf("%v, %s", err, s.last().URL.RawQuery)
		}
	})
}

func TestEveryKindOfAuth(t *testing.T) {
	s := serve(t, respond(`{}`))
	for auth, check := range map[string]func(*nethttp.Request) bool{
		`bearer = secret.key`: func(r *nethttp.Request) bool { return r.Header.Get("Authorization") == "Bearer s3cret-k3y" },
		`basic = { username = "me", password = secret.key }`: func(r *nethttp.Request) bool {
			user, password, ok := r.BasicAuth()
			return ok && user == "me" && password == "s3cret-k3y"
		},
		`header = { X-Api-Key = secret.key }`: func(r *nethttp.Request) bool { return r.Header.Get("X-Api-Key") == "s3cret-k3y" },
		`query = { appid = secret.key }`:      func(r *nethttp.Request) bool { return r.URL.RawQuery == "q=1&appid=s3cret-k3y" },
	} {
		b := adaptertest.Bind(t, source(s.URL, "  auth {\n    "+auth+"\n  }", "", `    get = "/x"
    query = { q = 1 }`))
		t.Run("is sent/"+auth, func(t *testing.T) {
			if _, err := b.Do(t.Context(), `{}`); err != nil {
				t.Fatal(err)
			}
			if !check(s.last().Request) {
				t.Errorf("sent %s %v", s.last().URL, s.last().Header)
			}
		})
		t.Run("is hidden in a plan/"+auth, func(t *testing.T) {
			plan, err := b.Plan(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(plan, "s3cret") || !strings.Contains(plan, "(secret)") {
				t.Errorf("plan:\n%s", plan)
			}
		})
	}
}

func TestPlanShowsTheRequest(t *testing.T) {
	b := adaptertest.Bind(t, source("https://shop.example/api", "  auth {\n    bearer = secret.key\n  }", `  input "id" { type = integer }`, `    put = "/orders/${input.id}"
    query = { dry = true, k = secret.key }
    json = { id = input.id }`))
	plan, err := b.Plan(t.Context(), `{"id": 7}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `PUT https://shop.example/api/orders/7?dry=true&k=(secret)
Accept: application/json, */*;q=0.5
Authorization: Bearer (secret)
Content-Type: application/json
User-Agent: hatchel/test

{"id":7}
`
	if plan != want {
		t.Errorf("plan:\n%s", plan)
	}
}

// awsAuth returns an auth block that signs requests.
func awsAuth(arguments string) string { return "auth {\n aws_sigv4 {\n " + arguments + "\n }\n }" }

const inRegion = "service = \"s3\"\n region = \"eu-central-1\"\n "

func TestMistakesAreRejectedAtLoad(t *testing.T) {
	for _, x := range []struct{ connection, block, want string }{
		{"", "query = {}", "write one of get, post, put, patch, delete, head"},
		{"", "get = \"/x\"\n post = \"/y\"", "write one of get"},
		{"", "post = \"/x\"\n json = 1\n body = \"x\"", "write one of json, form, multipart, body"},
		{"", "get = \"/x\"\n as = \"xml\"", `as is "json", "jsonl", "text" or "bytes", not "xml"`},
		{"", "get = \"/x\"\n as = \"text\"\n response = string", "response is the type of a JSON response"},
		{"", "get = \"/x\"\n ok_status = [\"20x\"]", `"20x" is not a status`},
		{"", "head = \"/x\"\n json = 1", "A HEAD request has no body"},
		{"", "post = \"/x\"\n body = { a = 1 }", "Write json = "},
		{"", "get = \"/x\"\n headers = { Host = \"evil\" }", "The header Host cannot be set"},
		{"", "get = \"/x\"\n headers = { \"a b\" = \"x\" }", "is not valid: use letters, digits"},
		{"", "get = \"/x\"\n hosts = [\"a.example\"]", "The host is that of the connection"},
		{"", "get = \"/x\"\n query = { ids = [1] }\n separators = { idz = \",\" }", `separators has "idz", but neither query nor form has it`},
		{"", "get = \"/x?ids=1\"\n separators = { ids = \",\" }", `separators has "ids", but neither query nor form has it`},
		{"", "post = \"/x\"\n multipart = { ids = \"1\" }\n separators = { ids = \",\" }", `separators has "ids", but neither query nor form has it`},
		{"", "get = \"/x\"\n query = { ids = [1] }\n separators = { ids = \", \" }", "separators has one character for each name"},
		{"", "get = \"/x\"\n query = { ids = [1] }\n separators = { ids = \"7\" }", "which is no letter and no digit"},
		{"", "get = \"/x\"\n retry {\n attempts = 50\n }", "attempts must be between 1 and 10"},
		{"", "get = \"/x\"\n retry {\n on = [\"timeout\"]\n }", `"timeout" is not a status`},
		{"", "get = \"/x\"\n paginate {\n items = \"output.body\"\n next = \"null\"\n param = \"json.after\"\n }", "must name a member of the JSON body"},
		{"", "get = \"/x\"\n as = \"bytes\"\n paginate {\n items = \"output.body\"\n next = \"null\"\n }", "Pages are decoded as JSON"},
		{"", paginated("get = \"/x\"", "", "output.page + 1"), `add the query parameter, such as param = "page"`},
		{"", paginated("get = \"/x\"", "page", "{offset: output.count}"), "so param has no meaning"},
		{"", paginated("get = \"/x\"", "page", "output.page_items"), "next gives a list"},
		{"", paginated("get = \"/x\"", "page", "length(output.page_items) == 2"), "next gives true or false"},
		{"", "get = \"/x\"\n paginate {\n items = \"output.page_items\"\n next = \"null\"\n }", "page_items"},
		{"auth {\n }", "get = \"/x\"", "How to sign in"},
		{"auth {\n basic = { user = \"x\" }\n }", "get = \"/x\"", "basic must have a username and a password"},
		{"auth {\n bearer = \"${secret.key}\\n\"\n }", "get = \"/x\"", "contains a line break"},
		{awsAuth("region = \"eu-central-1\""), "get = \"/x\"", "Missing argument"},
		{awsAuth("service = \"s3\""), "get = \"/x\"", "Missing argument"},
		{awsAuth("service = \"Amazon S3\"\n region = \"eu-central-1\""), "get = \"/x\"", "service must be the name of a service in signatures"},
		{awsAuth("service = \"s3\"\n region = \"eu.example/\""), "get = \"/x\"", "region must be the name of a region"},
		{awsAuth(inRegion + "role_arn = \"arn:aws:iam::123456789012:user/x\""), "get = \"/x\"", "role_arn must be the ARN of a role"},
		{awsAuth(inRegion + "external_id = \"x1\""), "get = \"/x\"", "external_id belongs to role_arn"},
		{awsAuth(inRegion + "session_name = \"s1\""), "get = \"/x\"", "session_name is the name of a session of role_arn"},
		{awsAuth(inRegion + "role_arn = \"arn:aws-cn:iam::123456789012:role/x\"\n session_name = \"a b\""), "get = \"/x\"", "session_name must have 2 to 64 characters"},
		{awsAuth(inRegion + "role_arn = \"arn:aws:iam::123456789012:role/x\"\n external_id = \"a b\""), "get = \"/x\"", "external_id must have 2 to 1224 characters"},
		{awsAuth(inRegion + "source = \"profile\""), "get = \"/x\"", "\"env\", \"web_identity\", \"container\" or \"instance\", not \"profile\""},
		{"auth {\n bearer = secret.key\n aws_sigv4 {\n service = \"s3\"\n region = \"eu-central-1\"\n }\n }", "get = \"/x\"", "write one of bearer, basic, header, query, oauth2, aws_sigv4"},
		{"ca_file = \"none.pem\"", "get = \"/x\"", `"none.pem" cannot be read`},
		{"cert_file = \"none.pem\"", "get = \"/x\"", "cert_file and key_file must be set together"},
		{"redirects = -1", "get = \"/x\"", "0 follows none"},
	} {
		t.Run(x.connection+" "+x.block, func(t *testing.T) {
			wantPart(t, adaptertest.MustReject(t, source("https://shop.example", x.connection, "", x.block)), x.want)
		})
	}
	for base, want := range map[string]string{
		"shop.example": "base_url must be a URL", "ftp://x": "base_url must be a URL", "https://": "base_url must be a URL",
		"https://u:p@x": "user name or password", "https://x/?a=1": "The query belongs to the requests",
	} {
		t.Run("base_url/"+base, func(t *testing.T) {
			wantPart(t, adaptertest.MustReject(t, source(base, "", "", `get = "/x"`)), want)
		})
	}
}

func TestIdempotencyKeyIsSentWithWrites(t *testing.T) {
	s := serve(t, respond(`{}`))
	for block, want := range map[string]string{
		`post = "/x"`:   "k-1",
		`put = "/x"`:    "k-1",
		`patch = "/x"`:  "k-1",
		`delete = "/x"`: "k-1",
		`get = "/x"`:    "",
		`head = "/x"`:   "",
		"post = \"/x\"\n headers = { idempotency-key = \"the author's\" }": "the author's",
	} {
		b := adaptertest.Bind(t, source(s.URL, "", "", "    "+block))
		call, err := b.Call(t.Context(), `{}`)
		if err != nil {
			t.Fatal(err)
		}
		call.Key = "k-1"
		if _, err := b.Action.Do(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		t.Run("of the call/"+block, func(t *testing.T) {
			if got := s.last().Header.Get("Idempotency-Key"); got != want {
				t.Errorf("sent %q", got)
			}
		})
		if _, err := b.Do(t.Context(), `{}`); err != nil {
			t.Fatal(err)
		}
		t.Run("of the author alone without one/"+block, func(t *testing.T) {
			if got := s.last().Header.Get("Idempotency-Key"); got != strings.TrimPrefix(want, "k-1") {
				t.Errorf("sent %q", got)
			}
		})
	}
}

// The names of a map of a call are the caller's. Those that the connection sets say who sends the request.
func TestNamesOfACallDoNotReplaceHeadersOfTheConnection(t *testing.T) {
	const input = `  input "h" { type = map(string) }`
	for name, c := range map[string]struct{ connection, headers, arguments, want string }{
		"a bearer token":         {"  auth {\n    bearer = secret.key\n  }", "input.h", `{"h": {"authorization": "Bearer other"}}`, "the header authorization cannot be set: the connection sets it"},
		"a key":                  {"  auth {\n    header = { X-Api-Key = secret.key }\n  }", "input.h", `{"h": {"x-api-key": "other"}}`, "the header x-api-key cannot be set"},
		"an identity":            {`  headers = { X-User = "ann" }`, "input.h", `{"h": {"X-USER": "ben"}}`, "the header X-USER cannot be set"},
		"with an underscore":     {`  headers = { X-User = "ann" }`, "input.h", `{"h": {"x_user": "ben"}}`, "the header x_user cannot be set"},
		"in a merged map":        {`  headers = { X-User = "ann" }`, `merge({ X-Other = "x" }, input.h)`, `{"h": {"x-user": "ben"}}`, "cannot be set"},
		"another header":         {"  auth {\n    bearer = secret.key\n  }", "input.h", `{"h": {"x-trace": "1"}}`, ""},
		"a name that is written": {"  auth {\n    bearer = secret.key\n  }", `{ Authorization = input.h["a"] }`, `{"h": {"a": "Bearer mine"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, respond(`{}`))
			_, err := adaptertest.Bind(t, source(s.URL, c.connection, input, "get = \"/x\"\n headers = "+c.headers)).Do(t.Context(), c.arguments)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if wantPart(t, wantFault(t, err).Message, c.want); s.count() > 0 {
				t.Error("a request was sent")
			}
		})
	}
}

// TestSeparatorsWithinElementsAreEscaped reads lists back with each separator, from a query and a form.
func TestSeparatorsWithinElementsAreEscaped(t *testing.T) {
	s := serve(t, respond(`{}`))
	for _, separator := range ",;|:.~-_/+ \t&=#§" {
		want := []string{"plain", "a" + string(separator) + "b", string(separator), "é &=#+?", ""}
		list, _ := json.Marshal(want)
		for method, argument := range map[string]string{"get": "query", "post": "form"} {
			b := adaptertest.Bind(t, source(s.URL, "", `  input "ids" { type = list(string) }`, fmt.Sprintf(
				"    %s = \"/\"\n    %s = merge({ ids = input.ids }, { other = [1, 2] })\n    separators = { ids = %q }",
				method, argument, string(separator))))
			if _, err := b.Do(t.Context(), `{"ids": `+string(list)+`}`); err != nil {
				t.Fatal(err)
			}
			sent, others, _ := strings.Cut(strings.TrimPrefix(s.last().URL.RawQuery+s.last().body, "ids="), "&")
			if others != "other=1&other=2" {
				t.Errorf("%s %q: %s", argument, separator, others)
			}
			if separator != ',' { // it is escaped, and once more within an element
				sent, _ = url.QueryUnescape(sent)
			}
			var got []string
			for part := range strings.SplitSeq(sent, string(separator)) {
				text, err := url.QueryUnescape(part)
				if separator != ',' {
					text, err = url.PathUnescape(part)
				}
				if err != nil {
					t.Error(err)
				}
				got = append(got, text)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s %q: %q", argument, separator, got)
			}
		}
	}
}
