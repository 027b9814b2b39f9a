package curl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/importer"
	"hatchel/hcl"
	"hatchel/runtime/load/source"
)

// importCommand imports a command into a directory and returns its files. It fails the test when they are not valid.
func importCommand(t *testing.T, dir, command string) (string, *importer.Result) {
	t.Helper()
	split, err := Split(command)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := importer.ReadBlocks(dir, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Import(split, "", blocks)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importer.Write(dir, r, importer.Options{}); err != nil {
		t.Fatal(err)
	}
	folder, err := source.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := folder.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(string) (string, bool) { return "value of a secret", true }
	config, diags := hcl.Load(files, all.Set().Kinds(), hcl.Options{Dir: dir, Getenv: getenv})
	var out strings.Builder
	if diags.Print(&out, config.Sources); len(diags) > 0 {
		t.Errorf("the files are not valid:\n%s", out.String())
	}
	var text strings.Builder
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(src)
	}
	return text.String(), r
}

func TestACommandBecomesATool(t *testing.T) {
	for _, test := range []struct {
		name, command string
		want          []string
	}{
		{"a query", `curl 'https://api.example.com/v1/orders?status=open&page=2&tag=a&tag=b&on=true'`, []string{
			`tool "list_orders"`, `get = "/v1/orders"`, `type = optional(string, "open")`, `type = optional(integer, 2)`,
			`type = optional(list(string), ["a", "b"])`, `type = optional(bool, true)`, `base_url = "https://api.example.com"`,
		}},
		{"ids in the path", `curl https://api.example.com/users/550e8400-e29b-41d4-a716-446655440000/orders/42/items/a1b2c3d4e5`, []string{
			`get = "/users/${input.user_id}/orders/${input.order_id}/items/${input.item_id}"`,
			`input "order_id" { type = integer }`, `format = "uuid"`, `tool "get_item"`,
		}},
		{"a JSON body", `curl -XPOST https://api.example.com/orders -H 'content-type: application/json' -d '{"id":1,"lines":[{"sku":"a","n":2}],"note":null,"a-b":1.5}'`,
			[]string{`tool "create_order"`, `post = "/orders"`, `type = list(object({`, `sku = string`, `note = input.note`, `a-b`, `= input.a_b`}},
		{"a body that is picked", `curl --json '{"id":1,"name":"x"}' api.example.com/orders`, []string{`json = pick(input, "id", "name")`}},
		{"a form", `curl https://api.example.com/orders -d a=1 --data-urlencode 'b=x y'`, []string{`form = {`, `a = input.a`, `b = input.b`}},
		{"parts with a file", `curl -F title=x -F 'scan=@/tmp/x.pdf;type=application/pdf' https://api.example.com/scans`,
			[]string{`multipart = {`, `input "scan" { type = file }`, `scan  = input.scan`}},
		{"-G", `curl -G https://api.example.com/orders -d status=open`, []string{`get = "/orders"`, `status = input.status`}},
		{"text", `curl -X PUT -H 'Content-Type: text/plain' -d hello https://api.example.com/notes/7`,
			[]string{`put = "/notes/${input.note_id}"`, `body = input.body`, `Content-Type = "text/plain"`}},
		{"options in one word", `curl -sSLXDELETE https://api.example.com/orders/9 -m5`,
			[]string{`delete = "/orders/${input.order_id}"`, `timeout = "5s"`}},
		{"lines of a terminal", "$ curl --request PATCH \\\n  --url https://api.example.com/orders/9 \\\n  --data $'{\"n\": 1}'\n",
			[]string{`patch = "/orders/${input.order_id}"`, `json = pick(input, "n")`}},
		{"a variable in the path", `curl "https://api.example.com/orders/$ORDER?x=${Y}"`, []string{`get = "/orders/${input.order}"`, `x = input.x`}},
		{"hostile text", `curl 'https://api.example.com/a"${x}/b?q=${secret.x}"%25{if}' -H 'X-A: "${x}%{y}' -H 'X-B: $${x}' -d '{"${x}\"": 1}' -X POST`,
			[]string{`$${secret.x}\"%%{if}`, `"\"$${x}%%{y}"`, `"$${x}\""`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, _ := importCommand(t, t.TempDir(), test.command)
			clean := strings.Join(strings.Fields(text), " ")
			for _, want := range test.want {
				if !strings.Contains(clean, strings.Join(strings.Fields(want), " ")) {
					t.Errorf("the files lack %s:\n%s", want, text)
				}
			}
		})
	}
}

func TestNoCredentialIsWritten(t *testing.T) {
	const canary = "Zk7Q9canary31415x92653x58979"
	for _, test := range []struct{ command, want string }{
		{`curl https://api.example.com/x -H 'Authorization: Bearer CANARY'`, "auth { bearer = secret.example_token }"},
		{`curl https://api.example.com/x -H 'Authorization: token CANARY'`, `Authorization = "token ${secret.example_token}"`},
		{`curl https://api.example.com/x --oauth2-bearer CANARY`, "bearer = secret.example_token"},
		{`curl https://api.example.com/x -u ada:CANARY`, "password = secret.example_password"},
		{`curl https://api.example.com/x -u CANARY:`, `basic = { username = secret.example_user, password = "" }`},
		{`curl https://api.example.com/x -u :CANARY`, `basic = { username = "", password = secret.example_password }`},
		{`curl https://ada:CANARY@api.example.com/x`, "username = secret.example_user"},
		{`curl https://api.example.com/x -H 'Authorization: Basic YWRhOlprN1E5Y2FuYXJ5MzE0MTV4OTI2NTN4NTg5Nzk='`, "password = secret.example_password"},
		{`curl https://api.example.com/x -H 'X-Api-Key: CANARY' -H 'X-App-Token: CANARY'`, "X-Api-Key = secret.example_api_key"},
		{`curl https://api.example.com/x -H 'X-Custom: CANARY'`, "X-Custom = secret.example_custom"},
		{`curl https://api.example.com/x -b 'session=CANARY'`, "Cookie = secret.example_cookie"},
		{`curl 'https://api.example.com/x?api_key=CANARY'`, "query = { api_key = secret.example_api_key }"},
		{`curl 'https://api.example.com/x?anything=CANARY'`, "anything = secret.example_anything"},
		{`curl 'https://hooks.example.com/services/CANARY/CANARY' -d '{"text":"CANARY"}'`, "pick(input"},
		{`curl https://api.example.com/login -d '{"user":"CANARY","password":"CANARY"}'`, "password = secret.example_password"},
		{`curl https://api.example.com/login -d 'user=CANARY&password=CANARY'`, "password = secret.example_password"},
		{`curl https://api.example.com/x -F token=CANARY -F other=CANARY`, "token = secret.example_token"},
		{`curl https://api.example.com/x -H "Authorization: Bearer $MY_TOKEN" -H 'X-Y: CANARY'`, `env = "MY_TOKEN"`},
		{`curl https://api.example.com/x -x http://u:CANARY@proxy -E /c:CANARY -d @CANARY`, "body = input.body"},
	} {
		text, r := importCommand(t, t.TempDir(), strings.ReplaceAll(test.command, "CANARY", canary))
		clean := strings.Join(strings.Fields(text), " ")
		if !strings.Contains(clean, strings.Join(strings.Fields(test.want), " ")) {
			t.Errorf("%s lacks %s:\n%s", test.command, test.want, text)
		}
		for _, l := range r.Losses {
			text += l.Name + l.Detail + l.Origin
		}
		if strings.Contains(text, canary) || strings.Contains(text, canary[3:]) {
			t.Errorf("%s writes its credential:\n%s", test.command, text)
		}
	}
}

func TestCommandsOfOneHostShareItsConnection(t *testing.T) {
	dir := t.TempDir()
	importCommand(t, dir, `curl https://api.example.com/orders -H 'Authorization: Bearer x'`)
	text, _ := importCommand(t, dir, `curl https://api.example.com/orders/1 -H 'Authorization: Bearer x'`)
	if strings.Count(text, `connection "http" "example"`) != 1 || strings.Count(text, "tool \"") != 2 {
		t.Errorf("got\n%s", text)
	}
}

func TestACommandOfAnotherServerOrUserHasAConnectionOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	importCommand(t, dir, `curl https://api.example.com/orders`)
	importCommand(t, dir, `curl https://auth.example.com/tokens -H 'Authorization: Bearer x'`)
	importCommand(t, dir, `curl https://api.example.com/users -H 'X-Api-Key: y'`)
	importCommand(t, dir, `curl https://auth.example.com/keys`)
	text, _ := importCommand(t, dir, `curl https://api.example.com/carts -H 'X-Api-Key: y'`)
	clean := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		`connection "http" "example" { base_url = "https://api.example.com" }`,
		`connection "http" "example_2" { base_url = "https://auth.example.com" auth { bearer = secret.example_2_token } }`,
		`http "example" { get = "/orders" }`, `http "example_2" { get = "/tokens" }`, `http "example_3" { get = "/users" }`,
		`http "example_2" { get = "/keys" }`, `http "example_3" { get = "/carts" }`,
	} {
		if !strings.Contains(clean, want) {
			t.Errorf("the files lack %s:\n%s", want, text)
		}
	}
}

func TestWhatIsNoPlainCommandIsRefused(t *testing.T) {
	for command, want := range map[string]string{
		"curl $(cat url)":                         "the host of the URL is computed by the shell",
		"curl a.example; curl b.example":          "2 curl commands",
		"curl a.example --next b.example":         "--next",
		"curl -K f a.example":                     "reads options from a file",
		"curl a.example/{a,b}":                    "several requests",
		"curl a.example/[1-9]":                    "several requests",
		"curl --path-as-is a.example/../x":        "--path-as-is sends",
		"curl a.example/x?a=1&b=2":                "write the URL in quotes",
		"curl “https://a.example”":                "typographic quotes",
		"curl a.example –H 'X: y'":                "typographic quotes",
		"for i in 1 2; do curl a.example; done":   "without loops",
		"curl -G a.example -d @f":                 "reads parameters from a file",
		"curl a.example ^\n -H \"X: y":            "a double quote is not closed",
		"curl a.example `\n -H 'X: y":             "a quote is not closed",
		"curl a.example ^\n -s\ncurl b.example":   "several curl commands",
		"Invoke-RestMethod `\n -Uri https://a.io": "the command is Invoke-RestMethod",
		"echo x":                              "the command is echo",
		"curl":                                "no URL",
		"curl --frobnicate https://a.example": "--frobnicate",
		"curl https://a.example https://b.example": "several URLs",
		"curl a.example \\\n\n -d a=1":             "end the line before it",
		"wget https://a.example":                   "the command is wget",
		"curl ftp://a.example":                     "https:// or http://",
		"curl -X PURGE https://a.example":          "PURGE",
		"curl https://u@$HOST/x":                   "behind a user",
		"curl 'https://a.example":                  "not valid",
		"curl -H":                                  "requires a value",
		"curl https://a.example -H 'no colon'":     "has no value",
		"curl https://a.example/%zz":               "not a valid URL",
	} {
		split, err := Split(command)
		if err == nil {
			_, err = Import(split, "", nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", command, err, want)
		}
	}
}

func FuzzCommandsNeverPanicAndGiveValidBlocks(f *testing.F) {
	for _, s := range []string{
		`curl https://a.example/b/1?c=d -H 'X: y' -d '{"a":[1,{}]}'`, `curl -F a=@b -u x:y a.example`, "curl '\x00' $A", `curl -G a -d '%zz=1&=&&'`,
		`curl "a/$b$c?$d=$e" -d '[1]' --json 1`, "curl -d @- a.example <<EOF\nEOF\n", "curl ^\"a.example^\" ^\n -H ^\"X: ^%^\"",
		"curl.exe a.example `\n -H \"X: $env:Y\" | Out-Null", `curl '{{a}}/:b/<c>/[d]/$E' -u f --url-query +g -T h/`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		split, err := Split(command)
		if err != nil {
			return
		}
		r, err := Import(split, "", nil)
		if err != nil {
			return
		}
		if _, err := importer.Write(t.TempDir(), r, importer.Options{DryRun: true}); err != nil {
			t.Errorf("%q: %v", command, err)
		}
	})
}

func TestAHeaderWithALineBreakIsRefused(t *testing.T) {
	if err := (&request{}).addHeader("X-A: a\r\nX-Token: sk_test_secret"); err == nil {
		t.Error("accepted")
	}
}
