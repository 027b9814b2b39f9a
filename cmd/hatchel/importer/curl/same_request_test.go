package curl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/curl"
	"hatchel/hcl"
	"hatchel/hcl/syntax"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/files"
)

// sameRequest is a command, and what a client gives to the tool of it so that the tool sends what curl sends. HOST in
// the command is the server that compares.
type sameRequest struct {
	command string
	// text is the form of the command that is imported, if it is not the one that runs.
	text string
	// args are the arguments of the tool. A file is written @name.
	args string
	// env are the variables of the shell, and the secrets of the tool.
	env string
	// wants are parts of the report of the import.
	wants string
}

var sameRequests = []sameRequest{
	// addresses
	{command: `curl HOST/orders`},
	{command: `curl http://HOST/orders/`},
	{command: `curl http://HOST/a/../x -H 'X-A: x' -d '{"a":1}' -H 'Content-Type: application/json'`, args: `{"a":1}`},
	{command: `curl http://HOST/a/./b/c/..`},
	{command: `curl http://HOST/a//b`, text: `curl http://HOST//a//b`, wants: "one slash"},
	{command: `curl http://HOST/a%20b/caf%C3%A9`},
	{command: `curl 'http://HOST/v1/models/gemini-pro:generate' --json '{"n":1}'`, args: `{"n":1}`},
	{command: `curl "http://HOST/orders/$ID.json?x=1" `, env: "ID=o7", args: `{"id":"o7"}`},
	{command: `curl "http://HOST/$A-$B/items"`, env: "A=x B=y", args: `{"a":"x","b":"y"}`},
	{command: `curl HOST/users/u1/orders/42`, text: `curl HOST/users/<user_id>/orders/:order`,
		args: `{"user_id":"u1","order":"42"}`},
	{command: `curl HOST/users/u1/x7`, text: `curl 'HOST/users/{userId}/{{item}}'`, args: `{"user_id":"u1","item":"x7"}`},
	{command: `curl -g 'HOST/a?ids[]=1&ids[]=2&f[x]=y'`},
	{command: `curl 'HOST/search?pretty&q=a+b%26c&page=2&on=true&n=007'`},
	{command: `curl 'HOST/a?tag=a&tag=b' --url-query 'q=a b' --url-query '+raw=%20'`},
	{command: `curl -G HOST/a --data-urlencode 'q=a b&c' -d x=1 --data-urlencode '=plain'`, args: `{"plain":""}`},
	{command: `curl "$BASE_URL/orders?x=1"`, env: "BASE_URL=http://HOST HATCHEL_VAR_base_url=http://HOST"},
	{command: `curl "http://$API_HOST/x"`, env: "API_HOST=HOST HATCHEL_VAR_api_host=HOST"},
	{command: `curl http://HOST/x/9`, text: `curl '{{baseUrl}}/x/:id'`, env: "HATCHEL_VAR_base_url=http://HOST", args: `{"id":"9"}`},
	{command: `curl http://127.0.0.1:PORT/x`, text: `curl http://127.0.{{net}}.1:PORT/x`, env: "HATCHEL_VAR_net=0"},
	// methods
	{command: `curl -X DELETE HOST/orders/9`, text: `curl -X delete HOST/orders/9`, wants: "as it is written", args: `{"order_id":9}`},
	{command: `curl -I HOST/orders`},
	{command: `curl -X POST HOST/orders`},
	{command: `curl -d '' HOST/orders`},
	{command: `curl -X GET HOST/_search -H 'Content-Type: application/json' -d '{"size":1}'`, args: `{"size":1}`},
	// headers
	{command: `curl HOST/reports -H 'Accept: text/csv' -H 'Accept-Language: de' -A agent/1 -e http://a.example/`},
	{command: `curl HOST/x -H 'Accept: application/vnd.github+json' -H 'X-GitHub-Api-Version: 2022-11-28'`},
	{command: `curl HOST/x.bin -H 'Accept: application/pdf, image/*'`},
	{command: `curl HOST/x -o scan.png`},
	{command: `curl HOST/repos/o/r/issues/3`, text: `curl HOST/repos/OWNER/REPO/issues/ISSUE_NUMBER`,
		args: `{"owner":"o","repo":"r","issue_number":"3"}`},
	{command: `curl 'HOST/t?ids=7ouMYWpwJ422jRcDASZB7P'`, args: `{"ids":"7ouMYWpwJ422jRcDASZB7P"}`},
	{command: `curl HOST/x -H 'X-A: 1' -H 'x-a: 2' -H 'X-Empty;' -H 'Content-Type: application/json'`},
	{command: `curl HOST/x -H 'Idempotency-Key: k1' -d a=b`, args: `{"idempotency_key":"k1","a":"b"}`},
	{command: `curl HOST/x -H "X-Tenant: $T"`, env: "T=acme", args: `{"x_tenant":"acme"}`},
	// credentials
	{command: `curl HOST/v1/charges -u test_key_000000000000: -d amount=2000`, args: `{"amount":"2000"}`,
		env: "HOST_127_0_0_1_USER=test_key_000000000000"},
	{command: `curl HOST/x -u "$U:$P"`, env: "U=ada P=pw4"},
	{command: `curl http://ada:p%40w@HOST/x`, env: "HOST_127_0_0_1_USER=ada HOST_127_0_0_1_PASSWORD=p@w"},
	{command: `curl HOST/x -u ada:pw`, text: `curl HOST/x -u ada`, env: "HOST_127_0_0_1_USER=ada HOST_127_0_0_1_PASSWORD=pw",
		wants: "password to set"},
	{command: `curl HOST/x -H "Authorization: Basic $(printf user:pass | base64)"`,
		env: "HOST_127_0_0_1_TOKEN=dXNlcjpwYXNz", wants: "computed value"},
	{command: `curl HOST/x -H "Authorization: Bearer $TOKEN" -H "X-Api-Key: ${KEY:-none}"`, env: "TOKEN=t1 KEY=k1"},
	{command: `curl HOST/x -u a:b -H "X-Api-Key: $KEY" -b "sid=$SID"`,
		env: "KEY=k1 SID=s1 HOST_127_0_0_1_USER=a HOST_127_0_0_1_PASSWORD=b HOST_127_0_0_1_COOKIE=sid=s1"},
	{command: `curl HOST/x -H 'Authorization: Bearer t2'`, text: `curl HOST/x -H 'Authorization: Bearer {{access_token}}'`,
		env: "HOST_127_0_0_1_TOKEN=t2"},
	{command: `curl HOST/x -H 'Authorization: raw-token-1'`, env: "HOST_127_0_0_1_AUTHORIZATION=raw-token-1"},
	{command: `curl HOST/x?api_key=k9`, text: `curl 'HOST/x?api_key=<your key>'`, env: "HOST_127_0_0_1_API_KEY=k9"},
	{command: `curl HOST/bot$BOT_TOKEN/getMe`, env: "BOT_TOKEN=12:ab HOST_127_0_0_1_KEY=12:ab"},
	{command: `curl HOST/hooks/T0001abcd2345EFGH --json '{"text":"x"}'`, args: `{"text":"x"}`,
		env: "HOST_127_0_0_1_HOOK=T0001abcd2345EFGH"},
	// bodies
	{command: `curl HOST/orders --json '{"id":1,"lines":[{"sku":"a","n":2},{"sku":"b"}],"tags":[],"meta":{},"x":[1,2.5,null]}'`,
		args: `{"id":1,"lines":[{"sku":"a","n":2},{"sku":"b"}],"tags":[],"meta":{},"x":[1,2.5,null]}`},
	{command: `curl HOST/orders --json '{"id":1,' --json '"b":2}'`, args: `{"id":1,"b":2}`},
	{command: `curl HOST/x -H 'Content-Type: application/vnd.api+json; charset=utf-8' -d '[1,2]'`, args: `{"body":[1,2]}`},
	{command: `curl HOST/x --json "{\"n\": $N, \"s\": \"$S\"}"`, env: "N=5 S=t", args: `{"n":5,"s":"t"}`},
	{command: `curl HOST/x --json '{"id": 7}'`, text: `curl HOST/x --json '{"id": {{id}}}'`, args: `{"id":7}`},
	{command: "curl HOST/x --json @- <<'EOF'\n{\"a\": {\"b\": 1}}\nEOF", args: `{"a":{"b":1}}`},
	{command: `curl HOST/x -d a=1 --data-urlencode 'b=x y' -d 'a=2'`, args: `{"a":["1","2"],"b":"x y"}`},
	{command: `curl HOST/x -d 'just text'`, args: `{"body":"just text"}`},
	{command: `curl HOST/x -H 'Content-Type: application/xml' -d '<a b="c"/>'`, args: `{"body":"<a b=\"c\"/>"}`},
	{command: `curl -H "Content-Type: application/x-ndjson" -XPOST "HOST/my-index/_bulk?pretty" --data-binary @bulk.json`,
		args: `{"body":"{\"a\":1}\n{\"b\":2}\n"}`, wants: "file of the command"},
	{command: `curl HOST/x --json @one.json`, args: `{"body":{"a":1}}`, wants: "file of the command"},
	{command: `curl HOST/x -H 'Content-Type: image/png' --data-binary @pixel.png`, args: `{"body":"@pixel.png"}`},
	{command: `curl -T note.txt -H 'Content-Type: text/plain' HOST/files/`, args: `{"body":"a note"}`},
	{command: `curl HOST/x -F a=b -F 'a=c' -F 'scan=@note.txt'`, args: `{"a":["b","c"],"scan":"@note.txt"}`},
	{command: `curl HOST/x -F 'text=<note.txt' -F 'with space=v'`, args: `{"text":"a note","with_space":"v"}`},
	// what curl does with repeated options, files and escapes
	{command: `curl HOST/x/y?limit=10\&offset=0 -H X-A:\ b\"c`},
	{command: `curl HOST/x -H 'User-Agent: two' -A one -e http://a/ -e http://b/`},
	{command: `curl HOST/x -u a:b -H 'Authorization: Bearer t5'`, env: "HOST_127_0_0_1_TOKEN=t5", wants: "header Authorization of -H"},
	{command: `curl HOST/x -H 'Authorization: Basic YzpkZQ==' -u a:b`,
		env: "HOST_127_0_0_1_USER=c HOST_127_0_0_1_PASSWORD=de"},
	{command: `curl HOST/x -d kind=x --data-urlencode 'note@note.txt'`, args: `{"kind":"x","note":"a note"}`,
		wants: "reads it from a file"},
	{command: `curl -G HOST/x --data-urlencode 'q@note.txt'`, args: `{"q":"a note"}`},
	{command: `curl HOST/x --url-query 'q@note.txt'`, args: `{"q":"a note"}`},
	{command: "curl HOST/x -H 'Content-Type: application/json' -d \"$(cat <<EOF\n{\"a\":\"$A\"}\nEOF\n)\"", env: "A=1", args: `{"a":"1"}`},
	{command: `curl HOST/x -d a="$(echo 5)" -H "X-A: $(printf 'v%s' 1)"`, args: `{"a":"5","x_a":"v1"}`, wants: "with printf"},
	{command: "curl HOST/x -d @- <<EOF\na=1&\nb=2\nEOF", args: `{"a":"1","b":"2"}`},
	{command: `curl HOST/x?c=1`, text: `curl 'HOST/x?=b&c=1'`, wants: "has no name"},
	{command: `curl HOST/x`, text: `curl 'HOST/x?q=caf%E9&r=a%00b'`, wants: "not text in UTF-8"},
	{command: `curl HOST/x -d a=1`, text: `curl HOST/x -H 'Content-Type:' -d a=1`, args: `{"a":"1"}`, wants: "without Content-Type"},
	// texts of terminals and of other shells
	{command: "curl http:/HOST/x --data-binary @- -H 'Content-Type: text/plain' <<EOF\na 1\nEOF",
		text: "cat <<EOF | curl --data-binary @- -H 'Content-Type: text/plain' http:/HOST/x\na 1\nEOF", args: `{"body":"a 1\n"}`},
	{command: `curl HOST/x --json '{"a":1}'`, text: "`echo '{\"a\":1}' | curl HOST/x --json @- || true`", args: `{"a":1}`},
	{command: `curl HOST/x --json '{"a":1}'`, text: "```bash\nTOKEN=$(curl HOST/x --json '{\"a\":1}' | jq -r .t)\n```", args: `{"a":1}`,
		wants: "the pipe to jq"},
	{command: `curl HOST/x -H 'Content-Type: application/json' -d "$BODY"`, env: `BODY={"n":1}`, args: `{"body":{"n":1}}`},
	{command: `curl HOST/x --json '{"n":1}'`, text: `curl HOST/x --json "$(jq -n '{n:1}')"`, args: `{"body":{"n":1}}`,
		wants: "computed value"},
	{command: `curl HOST/x`, text: "$ curl -sSL --compressed --http2 -k --retry 3 -o /dev/null \\  \n  HOST/x | jq . > out.json\n",
		wants: "the pipe to jq"},
	{command: `curl HOST/x -H "X-A: $T"`, env: "T=1", text: "# a comment\nT=1\ncurl HOST/x -H \"X-A: $T\" 2>/dev/null",
		args: `{"x_a":"1"}`},
	{command: `curl HOST/x --json '{"a":"b & c"}' -H 'X-P: 50%'`, args: `{"a":"b & c"}`,
		text: "curl ^\"http://HOST/x^\" ^\r\n  -H ^\"Content-Type: application/json^\" -H ^\"Accept: application/json^\" ^\r\n" +
			"  -H ^\"X-P: 50^%^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":^\\^\"b ^& c^\\^\"^}^\""},
	{command: `curl HOST/x -u u:p --json '{"a":1}'`, args: `{"a":1}`, env: "USERNAME=u PASSWORD=p",
		text: "curl.exe -u %USERNAME%:%PASSWORD% HOST/x ^\r\n  --json \"{\"\"a\"\":1}\""},
	{command: `curl HOST/x -H 'Authorization: Bearer t3' --json '{"a":1}'`, args: `{"a":1}`, env: "TOKEN=t3",
		text: "curl.exe HOST/x `\r\n  -H \"Authorization: Bearer $env:TOKEN\" `\r\n  --json '{\\\"a\\\":1}' | Out-Null"},
	{command: `curl HOST/x/y`, text: `sudo curl HOST/x/y`},
	{command: `curl HOST/users/007/posts/1234567890123456789`, args: `{"user_id":"007","post_id":"1234567890123456789"}`},
	{command: `curl HOST/x --json '{"a":"x y"}' -H 'X-P: 50%'`, args: `{"a":"x y"}`,
		text: `C:\Users\me>curl.exe HOST/x --json "{""a"":""x y""}" -H "X-P: 50%"`},
	{command: `curl HOST/x --json '{"a":"x y"}'`, args: `{"a":"x y"}`, text: `PS C:\> curl.exe HOST/x --json '{\"a\":\"x y\"}'`},
	{command: `curl HOST/x -H 'Authorization: Bearer t4'`, env: "API_TOKEN=t4",
		text: `curl HOST/x -H "Authorization: Bearer %API_TOKEN%"`},
	{command: `curl HOST/x -H 'Authorization: Bearer t4'`, env: "API_TOKEN=t4",
		text: `curl.exe HOST/x -H "Authorization: Bearer $($env:API_TOKEN)" | Out-Null`},
	{command: `curl HOST/x -H 'Content-Type: text/plain' -d '{"a": "$5"}'`, args: `{"body":"{\"a\": \"$5\"}"}`,
		text: "$body = @'\r\n{\"a\": \"$5\"}\r\n'@\r\n\r\ncurl.exe HOST/x -H 'Content-Type: text/plain' -d $body"},
	{command: `curl HOST/x --json '{"a": "t5"}'`, args: `{"a":"t5"}`, env: "A=t5",
		text: "curl.exe HOST/x `\n --json @\"\n{\"a\": \"$env:A\"}\n\"@"},
}

// TestAToolSendsWhatCurlSends runs commands with the program curl and imports them. A server compares the requests.
func TestAToolSendsWhatCurlSends(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("the program curl is missing; .ci/install installs it")
	}
	requests := make(chan recorded, 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests <- record(r) }))
	defer server.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"bulk.json": "{\"a\":1}\n{\"b\":2}\n", "one.json": `{"a":1}`,
		"pixel.png": "\x89PNG\x00\xff", "note.txt": "a note"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := strings.Cut(host, ":")
	places := strings.NewReplacer("HOST_", "HOST_", "API_HOST", "API_HOST", "HOST", host, "PORT", port)
	for _, one := range sameRequests {
		t.Run(one.command, func(t *testing.T) {
			one.env = places.Replace(one.env)
			cmd := exec.CommandContext(t.Context(), "bash", "-c", places.Replace(one.command)+" </dev/null")
			if strings.Contains(one.command, "<<") {
				cmd = exec.CommandContext(t.Context(), "bash", "-c", places.Replace(one.command))
			}
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), strings.Fields(one.env)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("curl: %v\n%s", err, out)
			}
			want := <-requests
			text := one.text
			if text == "" {
				text = one.command
			}
			files := callImported(t, dir, places.Replace(text), one)
			select {
			case got := <-requests:
				if !reflect.DeepEqual(got, want) {
					t.Errorf("curl sends\n%+v\nand the tool\n%+v\n%s", want, got, files)
				}
			default:
				t.Errorf("the tool sends nothing\n%s", files)
			}
		})
	}
}

// callImported imports a command, loads what was written, and calls the tool.
func callImported(t *testing.T, dir, text string, one sameRequest) string {
	t.Helper()
	command, err := curl.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	result, err := curl.Import(command, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if report := fmt.Sprint(result.Losses); !strings.Contains(report, one.wants) {
		t.Errorf("the report does not say %q: %s", one.wants, report)
	}
	env := map[string]string{}
	for _, pair := range strings.Fields(one.env) {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	sources, tool := sourcesOf(t, result)
	set := all.Set()
	cfg, diags := hcl.Load(sources, set.Kinds(), hcl.Options{Dir: "/", Getenv: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}})
	written := ""
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		written += string(sources[name].Data)
	}
	for _, d := range diags {
		t.Fatalf("%s: %s\n%s", d.Summary, d.Detail, written)
	}
	g, more := runtime.Compile(t.Context(), cfg, runtime.Build{Set: set, Dir: "/"})
	for _, d := range more {
		t.Fatalf("%s: %s\n%s", d.Summary, d.Detail, written)
	}
	defer g.Close()
	program, _ := g.Program(tool)
	caller := &mcp.Caller{Revision: mcp.Revision20260728, Capabilities: []byte("{}")}
	args := map[string]any{}
	if one.args != "" {
		if err := json.Unmarshal([]byte(one.args), &args); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range args {
		if file, isFile := strings.CutPrefix(fmt.Sprint(value), "@"); isFile {
			args[name] = upload(t.Context(), t, g, caller, filepath.Join(dir, file))
		}
	}
	encoded, _ := json.Marshal(args)
	out, err := program.RunToEnd(t.Context(), &mcp.CallRequest{Name: tool, Arguments: encoded, Caller: caller}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, written)
	}
	if answer := string(out.AppendResult(nil, mcp.Revision20260728)); strings.Contains(answer, `"isError":true`) {
		t.Errorf("the tool fails: %s", answer)
	}
	return written
}

func upload(ctx context.Context, t *testing.T, g *runtime.Generation, caller *mcp.Caller, name string) any {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := g.UploadLocal(ctx, files.Upload{Owner: caller.Owner(), Name: filepath.Base(name), Type: "text/plain", Length: -1},
		strings.NewReader(string(src)))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"file_id": f.ID}
}

// sourcesOf returns the files of an import and the name of its tool.
func sourcesOf(t *testing.T, result *importer.Result) (fstest.MapFS, string) {
	t.Helper()
	sources, tool := fstest.MapFS{}, ""
	for _, b := range result.Blocks {
		formatted, diags := syntax.Format(b.File, []byte(b.Text+"\n"))
		if diags.HasErrors() {
			t.Fatalf("%v\n%s", diags, b.Text)
		}
		if sources[b.File] == nil {
			sources[b.File] = &fstest.MapFile{}
		}
		sources[b.File].Data = append(sources[b.File].Data, formatted...)
		if rest, ok := strings.CutPrefix(b.Text, `tool "`); ok {
			tool, _, _ = strings.Cut(rest, `"`)
		}
	}
	return sources, tool
}

// recorded is what counts in a request.
type recorded struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         any
}

// record reads a request. Headers that every program chooses for itself do not count.
func record(r *http.Request) recorded {
	raw, _ := io.ReadAll(r.Body)
	header := r.Header.Clone()
	for _, name := range []string{"Accept-Encoding", "Content-Length", "Expect", "Traceparent", "Connection"} {
		header.Del(name)
	}
	for name, own := range map[string][]string{"Accept": {"*/*", "application/json, */*;q=0.5"}, "User-Agent": {"curl/", "hatchel"}} {
		if slices.ContainsFunc(own, func(s string) bool { return header.Get(name) == s || strings.HasPrefix(header.Get(name), s) }) {
			header.Del(name)
		}
	}
	for name, values := range header {
		header[name] = []string{strings.Join(values, ", ")}
	}
	kind, params, _ := mime.ParseMediaType(header.Get("Content-Type"))
	var body any = string(raw)
	switch {
	case kind == "multipart/form-data":
		header.Set("Content-Type", kind)
		body = partsOf(raw, params["boundary"])
	case kind == "application/x-www-form-urlencoded" && strings.Contains(string(raw), "="):
		body, _ = url.ParseQuery(string(raw))
	case strings.HasSuffix(kind, "json") && !strings.HasSuffix(kind, "ndjson"):
		_ = json.Unmarshal(raw, &body)
	}
	path := strings.NewReplacer("%3A", ":", "%3a", ":").Replace(r.URL.EscapedPath())
	return recorded{r.Method, path, r.URL.Query(), header, body}
}

// partsOf returns the parts of a form: names, names of files, and contents.
func partsOf(raw []byte, boundary string) (parts []string) {
	reader := multipart.NewReader(strings.NewReader(string(raw)), boundary)
	for {
		p, err := reader.NextRawPart()
		if err != nil {
			return parts
		}
		content, _ := io.ReadAll(p)
		parts = append(parts, fmt.Sprintf("%s %s %s", p.FormName(), p.FileName(), content))
	}
}
