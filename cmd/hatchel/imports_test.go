package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers lists the packages of this module that each package may import. A pattern that ends in /*
// matches the packages below a folder. The first line that covers a package applies; a package that
// no line covers may import none.
var layers = []struct {
	of     string
	may    []string
	tests  []string // additional imports of its tests
	banned []string // packages of the standard library
}{
	{of: "internal/backoff", may: []string{"internal/ctxtime"}},
	{of: "internal/credential", may: []string{"internal/lazyregexp"}},
	{of: "internal/filelock", may: []string{"internal/backoff"}},
	{of: "internal/sqlitefile", may: []string{"internal/ctxtime"}},
	{of: "internal/*"},
	{of: "hcl", may: []string{"hcl/*"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "hcl/surface", may: []string{"hcl", "hcl/*"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "hcl/*", may: []string{"hcl/*"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	// it does not know the clients of earlier revisions, for which package legacy is the only door
	{of: "runtime/mcp", may: []string{"hcl/jsonscan"}, tests: []string{"runtime/mcp/legacy", "runtime/mcp/legacy/handover", "runtime/state", "runtime/state/couriertest"}},
	{of: "runtime/mcp/legacy", may: []string{"hcl/jsonscan", "runtime/mcp", "runtime/mcp/legacy/handover"}},
	{of: "runtime/mcp/legacy/handover", may: []string{"hcl/jsonscan", "runtime/digest", "runtime/mcp", "runtime/state"}},
	{of: "adapters", may: []string{"hcl", "hcl/*"}},
	{of: "adapters/all", may: []string{"adapters", "adapters/*"}},
	{of: "adapters/guard"},
	{of: "adapters/shell", may: []string{"adapters", "adapters/guard", "adapters/shell/sandbox", "hcl", "hcl/*"}, tests: []string{"adapters/adaptertest"}},
	{of: "adapters/shell/sandbox", may: []string{"adapters/guard", "adapters/shell/sandbox/supervisor"}},
	{of: "adapters/shell/sandbox/supervisor"},
	{of: "adapters/*", may: []string{"adapters", "hcl", "hcl/*"}, tests: []string{"adapters/adaptertest", "runtime/auth/issuertest"}},
	{of: "runtime/postgres"},
	{of: "runtime/state", may: []string{"runtime/postgres"}, tests: []string{"runtime/postgres/postgrestest"}},
	{of: "runtime/state/couriertest", may: []string{"runtime/state"}},
	{of: "runtime/approval", may: []string{"adapters", "runtime/state"}, tests: []string{"runtime/postgres/postgrestest"}},
	{of: "runtime/webhook", may: []string{"runtime/state"}},
	{of: "runtime/hook", may: []string{"hcl", "hcl/eventkind", "hcl/value", "runtime/event", "runtime/metrics", "runtime/webhook"}, tests: []string{"runtime/postgres/postgrestest", "runtime/state"}},
	{of: "runtime/files", may: []string{"hcl/schema", "hcl/value", "runtime/state"}, tests: []string{"runtime/postgres/postgrestest"}},
	{of: "runtime/audit", may: []string{"hcl/value", "runtime/postgres"}, tests: []string{"runtime/postgres/postgrestest"}},
	{of: "runtime/auth", may: []string{"hcl", "runtime/mcp"}, tests: []string{"runtime/auth/issuertest"}},
	{of: "runtime/digest"},
	{of: "runtime/event", may: []string{"hcl", "hcl/eventkind", "hcl/jsonscan", "runtime/logging"}},
	{of: "runtime/endpoint"},
	{of: "runtime/metrics", may: []string{"runtime/endpoint"}},
	{of: "runtime/logging", may: []string{"hcl/jsonscan"}},
	{of: "runtime/secret", may: []string{"adapters/guard"}},
	{of: "runtime/source"},
	{of: "runtime/source/git", may: []string{"adapters/guard"}, tests: []string{"runtime/source/git/gittest"}},
	{of: "runtime/source/git/gittest"},
	{of: "runtime/failure", may: []string{"hcl", "hcl/jsonscan", "adapters", "hcl/jsonscan", "runtime/mcp", "runtime/state"}},
	{of: "runtime/limit", may: []string{"hcl", "adapters", "runtime/digest", "runtime/failure", "runtime/state"}},
	{of: "runtime/result", may: []string{"hcl", "hcl/*", "adapters", "runtime/digest", "runtime/failure", "runtime/mcp"}},
	{of: "runtime/policy", may: []string{"hcl", "runtime/failure", "runtime/mcp"}},
	{of: "runtime/elicit", may: []string{"hcl", "hcl/*", "adapters", "runtime/digest", "runtime/failure", "runtime/mcp", "runtime/result", "runtime/state"}},
	{of: "runtime/idempotency", may: []string{"runtime/failure", "runtime/result", "runtime/state"}},
	{of: "runtime/task", may: []string{"hcl/value", "runtime/mcp", "runtime/result", "runtime/state", "runtime/webhook"}},
	{of: "runtime/call", may: []string{
		"hcl", "hcl/*", "adapters", "runtime/approval", "runtime/audit", "runtime/digest", "runtime/elicit",
		"runtime/event", "runtime/failure", "runtime/files", "runtime/idempotency", "runtime/limit", "runtime/mcp", "runtime/metrics", "runtime/policy",
		"runtime/result", "runtime/state", "runtime/task", "runtime/trace", "runtime/webhook",
	}},
	{of: "runtime/trace", may: []string{"adapters"}, tests: []string{"runtime/trace/tracetest"}},
	{of: "runtime/trace/tracetest"},
	{of: "runtime/access", may: []string{"hcl", "hcl/eval", "hcl/surface", "runtime/call", "runtime/mcp", "runtime/policy"}},
	{of: "runtime/hold", may: []string{"hcl", "hcl/diag", "hcl/surface", "runtime/access"}},
	{of: "runtime/probe", may: []string{"adapters", "hcl", "hcl/schema", "runtime/call", "runtime/failure", "runtime/metrics", "runtime/result"}},
	{of: "runtime/served", may: []string{
		"hcl", "hcl/schema", "hcl/value", "runtime/audit", "runtime/auth", "runtime/call", "runtime/mcp", "runtime/metrics",
		"runtime/files", "runtime/policy", "runtime/probe", "runtime/result", "runtime/store",
	}},
	{of: "runtime/store", may: []string{
		"hcl", "runtime/approval", "runtime/call", "runtime/digest", "runtime/elicit", "runtime/files", "runtime/hook",
		"runtime/idempotency", "runtime/mcp/legacy/handover", "runtime/metrics", "runtime/state", "runtime/task", "runtime/webhook",
	}},
	{of: "runtime/upload", may: []string{"hcl/value", "runtime/audit", "runtime/files", "runtime/mcp", "runtime/served"}},
	{of: "runtime/operator", may: []string{
		"hcl", "hcl/eventkind", "hcl/jsonscan", "runtime/approval", "runtime/audit", "runtime/call", "runtime/event",
		"runtime/logging", "runtime/mcp", "runtime/metrics", "runtime/policy", "runtime/served", "runtime/store", "runtime/task",
	}},
	{of: "runtime/subscribe", may: []string{"runtime/call", "runtime/mcp"}},
	{of: "runtime/console", may: []string{"adapters", "hcl", "hcl/*", "runtime", "runtime/approval", "runtime/audit", "runtime/auth", "runtime/digest", "runtime/event", "runtime/limit", "runtime/metrics", "runtime/call", "runtime/files", "runtime/mcp", "runtime/result", "runtime/store", "runtime/task", "runtime/operator", "runtime/served", "runtime/upload"}, tests: []string{"adapters/all", "runtime/mcp/legacy"}},
	{of: "runtime", may: []string{"hcl", "hcl/*", "adapters", "runtime/*"}, tests: []string{"adapters/all"}, banned: []string{"database/sql", "os/exec"}},
	{of: "runtime/server", may: []string{"hcl", "hcl/surface", "runtime", "runtime/approval", "runtime/event", "runtime/files", "runtime/auth", "runtime/console", "runtime/endpoint", "runtime/limit", "runtime/logging", "runtime/mcp", "runtime/mcp/legacy", "runtime/operator", "runtime/probe", "runtime/served", "runtime/source", "runtime/source/git", "runtime/state", "runtime/store", "runtime/upload"}, tests: []string{"adapters/all", "runtime/access", "runtime/hold"}},
	{of: "cmd/hatchel/reference", may: []string{"cmd/hatchel/test/testblock", "hcl", "hcl/*", "runtime/metrics"}, tests: []string{"adapters/all"}},
	{of: "cmd/hatchel/console"},
	{of: "cmd/hatchel/exit"},
	{of: "cmd/hatchel/importer", may: []string{"cmd/hatchel/console", "cmd/hatchel/lint/injection", "hcl/diag", "hcl/syntax"}},
	{of: "cmd/hatchel/importer/*", may: []string{"cmd/hatchel/catalog", "cmd/hatchel/importer", "cmd/hatchel/importer/yamlfile", "cmd/hatchel/lint/injection", "hcl/*"}, tests: []string{"adapters", "adapters/*", "hcl", "runtime", "runtime/files", "runtime/mcp", "runtime/source"}, banned: []string{"os/exec"}},
	{of: "cmd/hatchel/sarif", may: []string{"hcl/diag"}},
	{of: "cmd/hatchel/github", may: []string{"hcl/diag"}},
	// it compiles configurations and calls their tools, as the server does
	{of: "cmd/hatchel/test", may: []string{"adapters", "cmd/hatchel/console", "cmd/hatchel/exit", "cmd/hatchel/github", "cmd/hatchel/importer", "cmd/hatchel/test/testblock", "hcl", "hcl/*", "runtime", "runtime/access", "runtime/approval", "runtime/call", "runtime/failure", "runtime/files", "runtime/mcp", "runtime/result"}, tests: []string{"adapters/adaptertest", "adapters/all", "adapters/toytest", "cmd/hatchel/reference"}},
	// it decodes tests against a configuration that was loaded, and runs none
	{of: "cmd/hatchel/test/testblock", may: []string{"hcl", "hcl/*"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	// it reads the directories that an editor has open, and opens nothing else
	// it judges a configuration that was loaded
	{of: "cmd/hatchel/lint", may: []string{"cmd/hatchel/lint/injection", "hcl", "hcl/*"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "cmd/hatchel/lint/injection"},
	{of: "cmd/hatchel/editor", may: []string{"cmd/hatchel/editor/highlight", "cmd/hatchel/lint", "cmd/hatchel/test/testblock", "hcl", "hcl/*"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "cmd/hatchel/editor/highlight", may: []string{"hcl/template"}},
	{of: "cmd/hatchel/editor/lsp", may: []string{"cmd/hatchel/catalog", "cmd/hatchel/editor", "cmd/hatchel/editor/highlight", "hcl", "hcl/*", "runtime/source"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	// it rewrites every fixture and example, and judges by plans whether the reviewer of a change would see it
	{of: "cmd/hatchel/mutation", tests: []string{"adapters/all", "hcl", "hcl/*", "runtime", "runtime/access", "runtime/call", "runtime/mcp", "cmd/hatchel/test"}},
	{of: "cmd/hatchel/revision", may: []string{"runtime/source", "runtime/source/git"}},
	{of: "cmd/hatchel/review", may: []string{"cmd/hatchel/console", "cmd/hatchel/exit", "cmd/hatchel/github", "cmd/hatchel/revision", "cmd/hatchel/sarif", "hcl", "hcl/diag", "hcl/surface", "runtime/access", "runtime/source"}},
	// it runs the program as an operator does
	{of: "cmd/hatchel/e2e", tests: []string{"adapters/all", "cmd/hatchel/exit", "hcl", "runtime", "runtime/approval", "runtime/audit", "runtime/auth/issuertest", "runtime/mcp", "runtime/postgres/postgrestest", "runtime/source/git/gittest", "runtime/state", "runtime/trace/tracetest"}},
	{of: "cmd/hatchel", may: []string{"cmd/hatchel/*", "hcl", "hcl/*", "adapters", "adapters/*", "runtime", "runtime/access", "runtime/approval", "runtime/files", "runtime/audit", "runtime/call", "runtime/hold", "runtime/logging", "runtime/mcp", "runtime/metrics", "runtime/result", "runtime/secret", "runtime/served", "runtime/server", "runtime/source", "runtime/source/git", "runtime/state"}},
	{of: "cmd/hatchel-bench", may: []string{"cmd/hatchel-bench/*"}},
	{of: "cmd/hatchel-bench/soak", may: []string{"cmd/hatchel-bench/process"}},
	{of: "examples", tests: []string{"adapters/all", "examples/orders/upstream/shop", "hcl", "cmd/hatchel/test/testblock", "hcl/value", "runtime/auth/issuertest", "runtime/mcp", "runtime/postgres/postgrestest", "runtime/trace/tracetest"}},
	{of: "examples/orders/upstream", may: []string{"examples/orders/upstream/shop"}},
}

// owners lists the packages that may import a dependency, by the prefix of its import path. A
// dependency that is not listed is forbidden outside of tests.
var owners = map[string][]string{
	"github.com/hashicorp/hcl/":               {"cmd/hatchel/editor", "cmd/hatchel/editor/*", "cmd/hatchel/lint", "cmd/hatchel/test/testblock", "hcl", "hcl/*", "cmd/hatchel-bench"},
	"github.com/hashicorp/golang-lru/":        {"adapters/http", "adapters/sql", "runtime/result"},
	"github.com/zclconf/go-cty/":              {"cmd/hatchel/lint", "cmd/hatchel/test/testblock", "hcl", "hcl/*"},
	"github.com/expr-lang/expr/":              {"hcl/eval/exprlang"},
	"github.com/santhosh-tekuri/jsonschema/":  {"hcl/schema"},
	"mvdan.cc/sh/":                            {"hcl/template/shelltext", "cmd/hatchel/importer/curl"},
	"golang.org/x/tools/txtar":                {"hcl/template/templatetest"},
	"github.com/go-resty/resty/":              {"adapters/http", "runtime/webhook"},
	"golang.org/x/net/http/httpguts":          {"adapters/http"},
	"go.yaml.in/yaml/":                        {"cmd/hatchel/importer/*"},
	"golang.org/x/text/encoding/charmap":      {"adapters/http"},
	"golang.org/x/text/unicode/norm":          {"cmd/hatchel/importer/*", "cmd/hatchel/lint/injection"},
	"database/sql":                            {"adapters/sql", "runtime/state", "cmd/hatchel-bench"},
	"github.com/mattn/go-sqlite3":             {"adapters/sql", "internal/sqlitefile", "runtime/state", "cmd/hatchel-bench"},
	"github.com/yosida95/uritemplate":         {"hcl/uritemplate"},
	"github.com/jackc/pgx/":                   {"adapters/sql", "cmd/hatchel-bench", "runtime/audit", "runtime/postgres", "runtime/postgres/postgrestest", "runtime/state"},
	"github.com/go-sql-driver/mysql":          {"adapters/sql"},
	"github.com/golang-jwt/jwt/":              {"runtime/auth", "runtime/auth/issuertest"},
	"github.com/go-jose/go-jose/":             {"runtime/auth", "runtime/auth/issuertest"},
	"golang.org/x/crypto/":                    {"runtime/mcp"},
	"golang.org/x/sync/":                      {"runtime/elicit", "runtime/mcp"},
	"golang.org/x/time/":                      {"runtime/auth"},
	"github.com/prometheus/":                  {"runtime/metrics"},
	"github.com/fsnotify/fsnotify":            {"runtime/source"},
	"go.opentelemetry.io/":                    {"runtime/trace", "runtime/trace/tracetest"},
	"google.golang.org/protobuf/":             {"runtime/trace/tracetest"},
	"github.com/go-logr/logr":                 {"runtime/trace"},
	"github.com/coreos/go-systemd/":           {"cmd/hatchel"},
	"github.com/spf13/cobra":                  {"cmd/hatchel"},
	"github.com/spf13/pflag":                  {"cmd/hatchel"},
	"github.com/rogpeppe/go-internal/diff":    {"runtime/console", "cmd/hatchel"},
	"golang.org/x/term":                       {"cmd/hatchel/console"},
	"golang.org/x/sys/":                       {"adapters", "adapters/*", "cmd/hatchel-bench/process", "runtime/server"},
	"github.com/modelcontextprotocol/go-sdk/": {"cmd/hatchel", "cmd/hatchel-bench", "cmd/hatchel-bench/*"},
}

const module = "hatchel"

const moduleRoot = "../.."

// goFiles returns the paths of all Go files of the module, with slashes and relative to its root.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(moduleRoot, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != moduleRoot || d.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(name) != ".go":
			return nil
		}
		rel, err := filepath.Rel(moduleRoot, name)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPackagesImportOnlyWhatTheLayersAllow(t *testing.T) {
	for _, name := range goFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(moduleRoot, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			checkImport(t, name, imported)
		}
	}
}

func checkImport(t *testing.T, file, imported string) {
	from, test := path.Dir(file), strings.HasSuffix(file, "_test.go")
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		if !mayImport(from, ours, test) {
			t.Errorf("%s imports %s, which the layers do not allow", file, imported)
		}
		return
	}
	if test {
		return
	}
	for _, l := range layers {
		if covers(l.of, from) && slices.Contains(l.banned, imported) {
			t.Errorf("%s imports %s, which the layer of the package forbids", file, imported)
		}
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") && imported != "database/sql" {
		return // the standard library
	}
	for prefix, packages := range owners {
		if strings.HasPrefix(imported, prefix) && slices.ContainsFunc(packages, func(p string) bool { return covers(p, from) }) {
			return
		}
	}
	t.Errorf("%s imports %s, which is a dependency of other packages only", file, imported)
}

// mayImport applies the first line that covers a package.
func mayImport(from, ours string, test bool) bool {
	if test && from == ours {
		return true // an external test of the package
	}
	if covers("internal/*", ours) && !covers("internal/*", from) {
		return true
	}
	for _, l := range layers {
		if !covers(l.of, from) {
			continue
		}
		allowed := l.may
		if test {
			allowed = append(slices.Clone(allowed), l.tests...)
		}
		return slices.ContainsFunc(allowed, func(p string) bool { return covers(p, ours) })
	}
	return false
}

func covers(pattern, name string) bool {
	if below, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, below)
	}
	return pattern == name
}
