package openapi_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/openapi"
	"hatchel/hcl"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
	"hatchel/hcl/syntax"
	"hatchel/hcl/value"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/files"
)

var (
	documents = flag.String("documents", "", "file with the names of OpenAPI documents to judge besides those of CI")
	argsEach  = flag.Int("arguments", 20, "sets of arguments for each tool")
)

// TestImportedToolsSendWhatTheirDocumentAllows calls each tool of each document with generated arguments. A library that
// the importer does not use checks the requests against the document: 99 of 100 must be valid, and the report of the
// import must name each tool with an invalid one.
func TestImportedToolsSendWhatTheirDocumentAllows(t *testing.T) {
	names, err := filepath.Glob("testdata/judge/*")
	if err != nil || len(names) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	list, err := os.ReadFile(*documents)
	if *documents != "" && err != nil {
		t.Fatal(err)
	}
	requests, invalid := 0, 0
	for _, name := range append(names, strings.Fields(string(list))...) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			n, bad := judgeDocument(t, name, *argsEach)
			requests, invalid = requests+n, invalid+bad
		})
	}
	t.Logf("%d requests, %d invalid: %.2f %% valid", requests, invalid, percent(requests, invalid))
	if percent(requests, invalid) < 99 {
		t.Error("too few requests are valid")
	}
}

func percent(all, bad int) float64 { return 100 * float64(all-bad) / float64(max(all, 1)) }

// judgement is what was found out about the tools of one document.
type judgement struct {
	adaptertest.Mocks
	t          *testing.T
	result     *importer.Result
	generation *runtime.Generation
	document   *openapi3.T
	sent       *http.Request // the last request
	path       string        // of it, below the base_url of its connection
	requests   int
	misses     map[string][]string // reasons by tool
}

func judgeDocument(t *testing.T, name string, sets int) (requests, invalid int) {
	o := openapi.Defaults()
	o.Source, o.All, o.Check = name, true, checkFiles
	o.NoPaginate = true // the answer of the judge has no pages
	result, err := openapi.Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	openapi.ReportFaults(t, result)
	if again, err := openapi.Import(t.Context(), o); err != nil || !slices.Equal(again.Blocks, result.Blocks) {
		t.Error("a second import gives other blocks")
	}
	j := &judgement{t: t, result: result, misses: map[string][]string{}}
	if j.document, err = loadDocument(name); err != nil {
		t.Fatalf("the judge cannot read the document: %v", err)
	}
	j.load()
	defer j.generation.Close()
	tools := 0
	for _, b := range result.Blocks {
		if m := toolHeader.FindStringSubmatch(b.Text); m != nil {
			tools++
			for i := range sets {
				j.call(m[3], m[1], m[2], i)
			}
		}
	}
	return j.requests, j.report(tools)
}

// toolHeader matches the comment and the name of a generated tool.
var toolHeader = regexp.MustCompile(`^# ([A-Z]+) (\S+)\ntool "([^"]+)"`)

// report fails the test for each tool with an invalid request and no loss. It returns the number of invalid requests.
func (j *judgement) report(tools int) (invalid int) {
	for _, tool := range slices.Sorted(maps.Keys(j.misses)) {
		reasons := j.misses[tool]
		invalid += len(reasons)
		var losses []string
		for _, l := range j.result.Losses {
			if l.Name == tool {
				losses = append(losses, strings.TrimSpace(l.Kind+" "+l.Detail))
			}
		}
		if losses == nil {
			j.t.Errorf("%s: %d invalid, and the report of the import does not say why: %s", tool, len(reasons), reasons[0])
			continue
		}
		j.t.Logf("%s: %d invalid: %s; lost: %s", tool, len(reasons), reasons[0], strings.Join(losses[:min(len(losses), 3)], "; "))
	}
	j.t.Logf("%d tools, %d requests, %d invalid: %.2f %% valid", tools, j.requests, invalid, percent(j.requests, invalid))
	if tools == 0 {
		j.t.Error("there are no tools")
	}
	return invalid
}

// checkFiles reports the mistakes and warnings of files.
func checkFiles(sources map[string][]byte) (mistakes []importer.Mistake, err error) {
	g, diags := compile(sources, nil)
	if g != nil {
		g.Close()
	}
	for _, d := range diags {
		mistakes = append(mistakes, importer.Mistake{File: d.Subject.File, Text: d.Summary + ": " + d.Detail})
	}
	return mistakes, nil
}

// compile loads files whose secrets are all set.
func compile(sources map[string][]byte, mocks adapters.Mocks) (*runtime.Generation, hcl.Diagnostics) {
	fsys := fstest.MapFS{}
	for name, src := range sources {
		fsys[name] = &fstest.MapFile{Data: src}
	}
	set := all.Set()
	getenv := func(name string) (string, bool) { return "secret", !strings.HasPrefix(name, "HATCHEL_VAR_") }
	cfg, diags := hcl.Load(fsys, set.Kinds(), hcl.Options{Dir: "/", Getenv: getenv})
	if diags.HasErrors() {
		return nil, diags
	}
	g, more := runtime.Compile(context.Background(), cfg, runtime.Build{Set: set, Dir: "/", Mocks: mocks})
	return g, append(diags, more...)
}

// load compiles the blocks of the import. They must have no mistake, no warning, and the canonical format.
func (j *judgement) load() {
	sources := map[string][]byte{}
	for _, b := range j.result.Blocks {
		formatted, diags := syntax.Format(b.File, []byte(b.Text+"\n"))
		if diags.HasErrors() {
			j.t.Fatalf("%v\n%s", diags, b.Text)
		}
		sources[b.File] = append(append(sources[b.File], formatted...), '\n')
	}
	g, diags := compile(sources, j)
	for _, d := range diags {
		j.t.Errorf("%s:%d: %s: %s", d.Subject.File, d.Subject.Start.Line, d.Summary, d.Detail)
	}
	if g == nil {
		j.t.FailNow()
	}
	j.generation = g
}

// call calls a tool with arguments of its type, and judges what it sends. The first set has only what is required, the
// second one everything.
func (j *judgement) call(tool, method, template string, set int) {
	program, ok := j.generation.Program(tool)
	if !ok {
		j.t.Errorf("%s is not served", tool)
		return
	}
	caller := &mcp.Caller{Revision: mcp.Revision20260728, Capabilities: []byte("{}")}
	s := &sampler{rand: rand.New(rand.NewPCG(uint64(set), uint64(len(tool)))), set: set, file: func(*schema.Type) any {
		f, err := j.generation.UploadLocal(j.t.Context(), files.Upload{Owner: caller.Owner(), Name: "a.txt", Type: "text/plain",
			Length: -1}, strings.NewReader("text"))
		if err != nil {
			j.t.Fatal(err)
		}
		return map[string]any{"file_id": f.ID}
	}}
	args, err := value.AppendJSON(nil, s.sample(program.Tool().Input, 0))
	if err != nil {
		j.t.Fatal(err)
	}
	if size := len(program.Tool().Input.AppendSchema(nil)); set == 0 && (size > maxSchema || len(tool) > 64) {
		j.t.Errorf("the schema of %s has %d bytes", tool, size)
	}
	j.sent = nil
	out, err := program.RunToEnd(j.t.Context(), &mcp.CallRequest{Name: tool, Arguments: args, Caller: caller}, nil)
	if j.sent == nil {
		text := fmt.Sprint(err)
		if err == nil {
			text = string(out.AppendResult(nil, mcp.Revision20260728))
		}
		if !strings.Contains(text, "must ") && !strings.Contains(text, "in the path of a URL") { // the sampler is not perfect
			j.miss(tool, args, errors.New("nothing was sent: "+text))
		}
		return
	}
	if err = j.judge(method, template); err != nil && !isWrong(err) {
		j.miss(tool, args, err)
	}
	j.requests++
}

// isWrong reports whether the judge is wrong: it knows no parts with brackets, takes an absent part for null, and judges
// Accept, which is no parameter. A value that fits several alternatives is what the document allows, if not what it means.
func isWrong(err error) bool {
	return slices.ContainsFunc([]string{"]: undefined", `parameter "Accept" in header`, "got null, want string", "matches more than one oneOf",
		"subschemas 1, 2 matched"}, func(text string) bool { return strings.Contains(err.Error(), text) })
}

func (j *judgement) miss(tool string, args []byte, err error) {
	text := strings.Join(strings.Fields(err.Error()), " ")
	j.misses[tool] = append(j.misses[tool], fmt.Sprintf("%.400s (%s)", text, cut(args)))
}

// maxSchema is the default of --max-schema.
const maxSchema = 8 << 10

func cut(args []byte) []byte { return args[:min(len(args), 200)] }

// judge checks the last request against the document.
func (j *judgement) judge(method, template string) error {
	item := j.document.Paths.Value(template)
	if item == nil {
		return fmt.Errorf("the document has no path %s", template)
	}
	if j.sent.Method != method {
		return fmt.Errorf("the method is %s", j.sent.Method)
	}
	params, err := matchPath(template, j.path)
	if err != nil {
		return err
	}
	operation := *item.GetOperation(method)
	if operation.Parameters, err = judgeNested(operation.Parameters, j.sent.URL.Query()); err != nil {
		return err
	}
	return openapi3filter.ValidateRequest(j.t.Context(), &openapi3filter.RequestValidationInput{
		Request: j.sent, PathParams: params,
		Route: &routers.Route{Spec: j.document, Path: template, PathItem: item, Method: method, Operation: &operation},
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true, RegexCompiler: compilePattern,
			RejectWhenRequestBodyNotSpecified: true,
		},
	})
}

// matchPath returns the parameters of a path.
func matchPath(template, path string) (map[string]string, error) {
	template, _, _ = strings.Cut(template, "#")
	template, _, _ = strings.Cut(template, "?")
	var names []string
	var re strings.Builder
	at := 0
	for _, m := range regexp.MustCompile(`\{([^{}/]+)\}`).FindAllStringSubmatchIndex(template, -1) {
		re.WriteString(regexp.QuoteMeta((&url.URL{Path: template[at:m[0]]}).EscapedPath()) + "([^/]*)")
		names = append(names, template[m[2]:m[3]])
		at = m[1]
	}
	re.WriteString(regexp.QuoteMeta((&url.URL{Path: template[at:]}).EscapedPath()))
	m := regexp.MustCompile("^" + re.String() + "$").FindStringSubmatch(path)
	if m == nil {
		return nil, fmt.Errorf("the path is %s", path)
	}
	params := map[string]string{}
	for i, name := range names {
		text, err := url.PathUnescape(m[i+1])
		if err != nil {
			return nil, err
		}
		params[name] = text
	}
	return params, nil
}

// anything is a pattern that every text matches.
type anything struct{}

func (anything) MatchString(string) bool { return true }

// compilePattern reads patterns as the language does. A pattern of another dialect is no rule for the judge.
func compilePattern(source string) (openapi3.RegexMatcher, error) {
	if p, err := schema.NewPattern(source); err == nil {
		return p, nil
	}
	return anything{}, nil
}

// Ask keeps the request, and ends the call.
func (j *judgement) Ask(_ context.Context, q *mock.Question) (*mock.Reply, error) {
	r := q.Raw.(*http.Request)
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	if bytes.Contains(body, []byte("grant_type=client_credentials")) {
		return &mock.Reply{Args: map[string]any{"json": map[string]any{
			"access_token": "t", "token_type": "Bearer", "expires_in": 3600,
		}}}, nil
	}
	j.path, _ = q.Sent["path"].(string)
	j.sent = r.Clone(j.t.Context())
	j.sent.Body, j.sent.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	j.sent.GetBody = nil
	return nil, &adapters.Fault{Message: "sent"}
}

func number(v any) float64 {
	f, _ := value.Float(v)
	return f
}
