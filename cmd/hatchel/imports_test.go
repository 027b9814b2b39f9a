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
	{of: "internal/contentcoding", may: []string{"internal/cut"}},
	{of: "internal/credential", may: []string{"internal/lazyregexp"}},
	{of: "internal/filelock", may: []string{"internal/backoff"}},
	{of: "internal/redirect", may: []string{"internal/hostname"}},
	{of: "internal/sendonce", may: []string{"internal/backoff", "internal/ctxtime"}},
	{of: "internal/yamlfile", may: []string{"internal/lazyregexp"}},
	{of: "internal/sqlitefile", may: []string{"internal/ctxtime", "internal/operator"}},
	{of: "internal/*"},
	{of: "hcl", may: []string{"hcl/*"}, tests: []string{"adapters", "adapters/all", "adapters/toytest"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "hcl/surface", may: []string{"hcl", "hcl/*"}, tests: []string{"adapters", "adapters/all", "adapters/toytest"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "hcl/*", may: []string{"hcl/*"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	// it does not know the clients of earlier revisions, for which package legacy is the only door
	{of: "runtime/edge/mcp", may: []string{"hcl/jsonscan"}, tests: []string{"runtime/edge/mcp/legacy", "runtime/edge/mcp/legacy/handover", "runtime/durable/state", "runtime/durable/state/couriertest"}},
	{of: "runtime/edge/mcp/legacy", may: []string{"hcl/jsonscan", "runtime/edge/mcp", "runtime/edge/mcp/legacy/handover"}},
	{of: "runtime/edge/mcp/legacy/handover", may: []string{"hcl/jsonscan", "internal/digest", "runtime/edge/mcp", "runtime/durable/state"}},
	{of: "adapters", may: []string{"hcl", "hcl/*"}},
	{of: "adapters/all", may: []string{"adapters", "adapters/*"}},
	{of: "adapters/guard"},
	{of: "adapters/shell", may: []string{"adapters", "adapters/guard", "adapters/program", "adapters/sandbox", "hcl", "hcl/*"}, tests: []string{"adapters/adaptertest"}},
	{of: "adapters/program", may: []string{"adapters", "adapters/guard", "adapters/sandbox", "hcl", "hcl/*"}},
	{of: "adapters/sandbox", may: []string{"adapters", "adapters/guard", "adapters/sandbox/supervisor", "hcl", "hcl/*"}},
	{of: "adapters/sandbox/supervisor"},
	{of: "adapters/credential", may: []string{"adapters", "hcl", "hcl/*"}, tests: []string{"adapters/credential/cloudtest", "runtime/edge/auth/issuertest"}},
	{of: "adapters/credential/cloudtest", may: []string{"adapters", "adapters/credential", "runtime/edge/auth/issuertest"}},
	// it has the blocks that declare how connections authenticate; the packages of clouds do not know them
	{of: "adapters/credential/auth", may: []string{"adapters", "adapters/scrub", "adapters/credential", "adapters/credential/*", "hcl", "hcl/*"}},
	{of: "adapters/credential/aws", may: []string{"adapters", "adapters/credential", "hcl", "hcl/*"}, tests: []string{"adapters/credential/aws/awstest", "adapters/credential/cloudtest"}},
	{of: "adapters/credential/aws/awstest"},
	{of: "adapters/credential/*", may: []string{"adapters", "adapters/credential", "hcl", "hcl/*"}, tests: []string{"adapters/credential/cloudtest"}},
	{of: "adapters/http", may: []string{"adapters", "adapters/scrub", "adapters/credential", "adapters/credential/*", "hcl", "hcl/*"}, tests: []string{"adapters/adaptertest", "adapters/credential/cloudtest", "runtime/edge/auth/issuertest"}},
	{of: "adapters/mcp/client", may: []string{"hcl/jsonscan"}, tests: []string{"adapters/mcp/client/mcptest"}},
	{of: "adapters/mcp/client/mcptest", may: []string{"hcl/jsonscan"}},
	{of: "adapters/mcp/process", may: []string{"adapters", "adapters/guard", "adapters/mcp/client", "adapters/program", "adapters/sandbox", "hcl"}, tests: []string{"adapters/mcp/client/mcptest"}},
	{of: "adapters/mcp/pool", may: []string{"adapters"}},
	{of: "adapters/mcp", may: []string{"adapters", "adapters/guard", "adapters/program", "adapters/sandbox", "adapters/http", "adapters/scrub", "adapters/credential", "adapters/credential/*", "adapters/mcp/*", "hcl", "hcl/*"}, tests: []string{"adapters/adaptertest"}},
	{of: "adapters/sql", may: []string{"adapters", "adapters/credential", "adapters/credential/*", "hcl", "hcl/*"}, tests: []string{"adapters/adaptertest", "adapters/credential/aws/awstest", "adapters/credential/cloudtest", "runtime/edge/auth/issuertest"}},
	// it reads bytes and configurations, and opens nothing
	{of: "adapters/mcp/drift", may: []string{"adapters", "adapters/mcp/client", "adapters/mcp/definition", "hcl", "hcl/*"}, tests: []string{"adapters/mcp/definition/definitiontest"}},
	{of: "adapters/mcp/definition/definitiontest", may: []string{"adapters/mcp/definition"}},
	{of: "adapters/mcp/definition", may: []string{"hcl", "hcl/*"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "adapters/*", may: []string{"adapters", "hcl", "hcl/*"}, tests: []string{"adapters/adaptertest", "runtime/edge/auth/issuertest"}},
	{of: "runtime/durable/postgres"},
	{of: "runtime/durable/state", may: []string{"runtime/durable/postgres"}, tests: []string{"runtime/durable/postgres/postgrestest"}},
	{of: "runtime/durable/state/couriertest", may: []string{"runtime/durable/state"}},
	{of: "runtime/stage/approval", may: []string{"adapters", "runtime/durable/state"}, tests: []string{"runtime/durable/postgres/postgrestest"}},
	{of: "runtime/durable/webhook", may: []string{"runtime/durable/state"}},
	{of: "runtime/durable/hook", may: []string{"hcl", "hcl/eventkind", "hcl/value", "runtime/observe/event", "runtime/observe/metrics", "runtime/durable/webhook"}, tests: []string{"runtime/durable/postgres/postgrestest", "runtime/durable/state"}},
	{of: "runtime/stage/files", may: []string{"hcl/schema", "hcl/value", "runtime/durable/state"}, tests: []string{"runtime/durable/postgres/postgrestest"}},
	{of: "runtime/durable/audit", may: []string{"hcl/value", "runtime/durable/postgres"}, tests: []string{"runtime/durable/postgres/postgrestest"}},
	{of: "runtime/durable/grant", may: []string{"internal/digest", "runtime/durable/state", "runtime/edge/mcp"}, tests: []string{"runtime/durable/postgres/postgrestest"}},
	{of: "runtime/edge/auth/issuer"},
	{of: "runtime/edge/signin/provider", may: []string{"adapters/credential", "hcl", "runtime/edge/auth/issuer"}, tests: []string{"adapters", "runtime/edge/auth/issuertest"}},
	{of: "runtime/edge/auth", may: []string{"hcl", "hcl/jsonscan", "runtime/durable/grant", "runtime/edge/auth/issuer", "runtime/edge/mcp"}, tests: []string{"runtime/durable/state", "runtime/edge/auth/issuertest"}},
	{of: "runtime/edge/signin/client", may: []string{"hcl", "hcl/jsonscan", "runtime/edge/auth/issuer"}, tests: []string{"adapters/all", "runtime/durable/grant", "runtime/edge/mcp"}},
	{of: "internal/digest"},
	{of: "runtime/observe/event", may: []string{"hcl", "hcl/eventkind", "hcl/jsonscan", "runtime/observe/logging"}},
	{of: "runtime/observe/recent", may: []string{"runtime/observe/event"}},
	{of: "runtime/durable/callstore", may: []string{"runtime/durable/state", "runtime/observe/recent"}, tests: []string{"runtime/durable/postgres/postgrestest", "runtime/observe/event"}},
	{of: "runtime/edge/endpoint"},
	{of: "runtime/durable/historystore", may: []string{"runtime/durable/state", "runtime/observe/metrics"}, tests: []string{"runtime/durable/postgres/postgrestest"}},
	{of: "runtime/observe/metrics", may: []string{"runtime/edge/endpoint"}},
	{of: "runtime/observe/logging", may: []string{"hcl/jsonscan"}},
	{of: "runtime/load/secret", may: []string{"adapters/guard"}},
	{of: "runtime/load/source"},
	{of: "runtime/load/source/git", may: []string{"adapters/guard"}, tests: []string{"runtime/load/source/git/gittest"}},
	{of: "runtime/load/source/git/gittest"},
	{of: "runtime/stage/failure", may: []string{"hcl", "hcl/jsonscan", "adapters", "hcl/jsonscan", "runtime/edge/mcp", "runtime/durable/state"}},
	{of: "runtime/stage/limit", may: []string{"hcl", "adapters", "internal/digest", "runtime/stage/failure", "runtime/durable/state"}},
	{of: "runtime/stage/rows", may: []string{"hcl/jsonscan", "hcl/schema", "hcl/value"}},
	{of: "runtime/stage/result", may: []string{"hcl", "hcl/*", "adapters", "adapters/scrub", "internal/digest", "runtime/stage/failure", "runtime/stage/rows", "runtime/edge/mcp"}},
	{of: "runtime/stage/mask", may: []string{"adapters", "adapters/scrub", "hcl", "hcl/eval", "hcl/jsonscan", "hcl/value"}},
	{of: "runtime/stage/policy", may: []string{"hcl", "runtime/stage/failure", "runtime/edge/mcp"}},
	{of: "runtime/stage/elicit", may: []string{"hcl", "hcl/*", "adapters", "internal/digest", "runtime/stage/failure", "runtime/edge/mcp", "runtime/stage/result", "runtime/durable/state"}},
	{of: "runtime/stage/opencall", may: []string{"adapters", "hcl/value", "runtime/durable/state", "runtime/stage/elicit", "runtime/stage/failure"}, tests: []string{"runtime/durable/state/couriertest"}},
	{of: "runtime/stage/idempotency", may: []string{"runtime/stage/failure", "runtime/stage/result", "runtime/durable/state"}},
	{of: "runtime/stage/task", may: []string{"hcl/value", "runtime/edge/mcp", "runtime/stage/result", "runtime/durable/state", "runtime/durable/webhook"}},
	{of: "runtime/call", may: []string{
		"hcl", "hcl/*", "adapters", "adapters/scrub", "runtime/stage/approval", "runtime/durable/audit", "internal/digest", "runtime/stage/elicit",
		"runtime/observe/event", "runtime/stage/failure", "runtime/stage/files", "runtime/stage/idempotency", "runtime/stage/limit", "runtime/edge/mcp", "runtime/stage/mask", "runtime/observe/metrics", "runtime/stage/policy",
		"runtime/stage/result", "runtime/stage/rows", "runtime/durable/state", "runtime/observe/recent", "runtime/stage/opencall", "runtime/stage/task", "runtime/observe/trace", "runtime/durable/webhook",
	}},
	{of: "runtime/observe/trace", may: []string{"adapters"}, tests: []string{"runtime/observe/trace/tracetest"}},
	{of: "runtime/observe/trace/tracetest"},
	{of: "runtime/load/access", may: []string{"hcl", "hcl/eval", "hcl/surface", "runtime/call", "runtime/edge/mcp", "runtime/stage/policy"}},
	{of: "runtime/load/hold", may: []string{"hcl", "hcl/diag", "hcl/surface", "runtime/load/access"}, tests: []string{"adapters/all"}},
	{of: "runtime/observe/probe", may: []string{"adapters", "adapters/scrub", "hcl", "hcl/schema", "runtime/call", "runtime/stage/failure", "runtime/observe/metrics", "runtime/stage/result"}},
	{of: "runtime/edge/signin", may: []string{
		"hcl", "runtime/durable/audit", "runtime/durable/grant", "runtime/edge/auth", "runtime/edge/mcp", "runtime/edge/served",
		"runtime/edge/signin/client", "runtime/edge/signin/provider", "runtime/stage/approval", "runtime/stage/limit",
	}, tests: []string{
		"adapters/all", "runtime", "runtime/durable/state", "runtime/durable/store", "runtime/edge/auth/issuertest",
		"runtime/edge/server", "runtime/observe/logging",
	}},
	{of: "runtime/edge/view", may: []string{"hcl", "hcl/schema", "hcl/value"}},
	{of: "runtime/edge/served", may: []string{
		"runtime/durable/grant", "runtime/edge/view", "runtime/edge/signin/client", "runtime/edge/signin/provider",
		"hcl", "hcl/jsonscan", "hcl/schema", "hcl/value", "runtime/durable/audit", "runtime/edge/auth", "runtime/call", "runtime/edge/mcp", "runtime/observe/metrics",
		"runtime/stage/files", "runtime/stage/policy", "runtime/observe/probe", "runtime/stage/result", "runtime/durable/store",
	}},
	{of: "runtime/durable/store", may: []string{
		"hcl", "runtime/stage/approval", "runtime/call", "internal/digest", "runtime/stage/elicit", "runtime/stage/files", "runtime/durable/grant", "runtime/durable/hook",
		"runtime/stage/idempotency", "runtime/stage/opencall", "runtime/edge/mcp", "runtime/edge/mcp/legacy/handover", "runtime/observe/metrics", "runtime/durable/state", "runtime/stage/task", "runtime/durable/webhook",
	}},
	{of: "runtime/edge/upload", may: []string{"hcl/value", "runtime/durable/audit", "runtime/stage/files", "runtime/edge/mcp", "runtime/edge/served"}},
	{of: "runtime/edge/operator", may: []string{
		"hcl", "hcl/eventkind", "hcl/jsonscan", "runtime/stage/approval", "runtime/durable/audit", "runtime/durable/grant", "runtime/call", "runtime/observe/event",
		"runtime/observe/logging", "runtime/edge/mcp", "runtime/observe/metrics", "runtime/stage/policy", "runtime/edge/served", "runtime/observe/recent", "runtime/durable/callstore", "runtime/durable/store", "runtime/stage/task",
	}},
	{of: "runtime/edge/subscribe", may: []string{"runtime/call", "runtime/edge/mcp"}},
	{of: "runtime/edge/console", may: []string{"adapters", "adapters/scrub", "hcl", "hcl/*", "runtime", "runtime/load/access", "runtime/stage/policy", "runtime/stage/approval", "runtime/durable/audit", "runtime/durable/grant", "runtime/edge/auth", "internal/digest", "runtime/observe/event", "runtime/observe/probe", "runtime/observe/recent", "runtime/stage/limit", "runtime/observe/metrics", "runtime/call", "runtime/stage/files", "runtime/edge/mcp", "runtime/stage/result", "runtime/durable/store", "runtime/stage/task", "runtime/edge/operator", "runtime/edge/served", "runtime/edge/upload", "runtime/edge/view"}, tests: []string{"adapters/all", "runtime/durable/state", "runtime/edge/auth/issuertest", "runtime/edge/mcp/legacy", "runtime/edge/server", "runtime/observe/logging"}},
	{of: "runtime", may: []string{"hcl", "hcl/*", "adapters", "adapters/credential", "runtime/*"}, tests: []string{"adapters/all"}, banned: []string{"database/sql", "os/exec"}},
	{of: "runtime/edge/server", may: []string{"hcl", "hcl/surface", "runtime", "runtime/stage/approval", "runtime/observe/event", "runtime/stage/files", "runtime/edge/auth", "runtime/edge/console", "runtime/edge/endpoint", "runtime/stage/limit", "runtime/observe/logging", "runtime/edge/mcp", "runtime/edge/mcp/legacy", "runtime/edge/operator", "runtime/observe/probe", "runtime/edge/served", "runtime/edge/signin", "runtime/load/source", "runtime/load/source/git", "runtime/durable/grant", "runtime/durable/state", "runtime/durable/store", "runtime/edge/upload"}, tests: []string{"adapters/all", "adapters/mcp/client/mcptest", "adapters/mcp/definition/definitiontest", "hcl/eventkind", "runtime/load/access", "runtime/load/hold"}},
	{of: "cmd/hatchel/reference", may: []string{"cmd/hatchel/test/testblock", "hcl", "hcl/*", "runtime/observe/metrics"}, tests: []string{"adapters/all"}},
	{of: "cmd/hatchel/console"},
	{of: "cmd/hatchel/exit"},
	{of: "cmd/hatchel/oauthclient"},
	{of: "cmd/hatchel/importer", may: []string{"cmd/hatchel/console", "cmd/hatchel/lint/injection", "hcl/diag", "hcl/syntax"}},
	{of: "cmd/hatchel/importer/mcp", may: []string{"adapters/mcp/definition", "cmd/hatchel/importer", "cmd/hatchel/importer/openapi", "hcl/jsonscan", "hcl/syntax"}, tests: []string{"adapters/all", "hcl"}, banned: []string{"net", "net/http", "os/exec"}},
	{of: "cmd/hatchel/importer/*", may: []string{"cmd/hatchel/catalog", "cmd/hatchel/importer", "cmd/hatchel/lint/injection", "hcl/*"}, tests: []string{"adapters", "adapters/*", "hcl", "runtime", "runtime/stage/files", "runtime/edge/mcp", "runtime/load/source"}, banned: []string{"os/exec"}},
	{of: "cmd/hatchel/upstream", may: []string{"adapters", "adapters/all", "adapters/mcp", "adapters/mcp/client", "cmd/hatchel/importer/mcp", "hcl"}},
	{of: "cmd/hatchel/sarif", may: []string{"hcl/diag"}},
	{of: "cmd/hatchel/github", may: []string{"hcl/diag"}},
	// it compiles configurations and calls their tools, as the server does
	{of: "cmd/hatchel/test", may: []string{"adapters", "adapters/scrub", "cmd/hatchel/console", "cmd/hatchel/exit", "cmd/hatchel/github", "cmd/hatchel/importer", "cmd/hatchel/test/testblock", "hcl", "hcl/*", "runtime", "runtime/load/access", "runtime/stage/approval", "runtime/call", "runtime/stage/failure", "runtime/stage/files", "runtime/edge/mcp", "runtime/stage/result"}, tests: []string{"adapters/adaptertest", "adapters/all", "adapters/toytest", "cmd/hatchel/reference"}},
	// it decodes tests against a configuration that was loaded, and runs none
	{of: "cmd/hatchel/test/testblock", may: []string{"hcl", "hcl/*"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	// it reads the directories that an editor has open, and opens nothing else
	// it judges a configuration that was loaded
	{of: "cmd/hatchel/lint", may: []string{"cmd/hatchel/lint/injection", "hcl", "hcl/*"}, tests: []string{"adapters/all", "adapters/mcp/definition/definitiontest"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "cmd/hatchel/lint/injection"},
	{of: "cmd/hatchel/editor", may: []string{"cmd/hatchel/editor/highlight", "cmd/hatchel/lint", "cmd/hatchel/test/testblock", "hcl", "hcl/*"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	{of: "cmd/hatchel/editor/highlight", may: []string{"hcl/template"}},
	{of: "cmd/hatchel/editor/lsp", may: []string{"cmd/hatchel/catalog", "cmd/hatchel/editor", "cmd/hatchel/editor/highlight", "hcl", "hcl/*", "runtime/load/source"}, tests: []string{"adapters/all"}, banned: []string{"net", "net/http", "os/exec", "database/sql"}},
	// it rewrites every fixture and example, and judges by plans whether the reviewer of a change would see it
	{of: "cmd/hatchel/mutation", tests: []string{"adapters/all", "hcl", "hcl/*", "runtime", "runtime/load/access", "runtime/call", "runtime/edge/mcp", "cmd/hatchel/test"}},
	{of: "cmd/hatchel/revision", may: []string{"runtime/load/source", "runtime/load/source/git"}},
	{of: "cmd/hatchel/review", may: []string{"cmd/hatchel/console", "cmd/hatchel/exit", "cmd/hatchel/github", "cmd/hatchel/revision", "cmd/hatchel/sarif", "hcl", "hcl/diag", "hcl/surface", "runtime/load/access", "runtime/load/source"}},
	// it runs the program as an operator does
	{of: "cmd/hatchel/e2e", tests: []string{"adapters/all", "adapters/mcp/client/mcptest", "adapters/mcp/definition/definitiontest", "cmd/hatchel/exit", "hcl", "runtime", "runtime/stage/approval", "runtime/durable/audit", "runtime/edge/auth/issuertest", "runtime/edge/mcp", "runtime/durable/postgres/postgrestest", "runtime/load/source/git/gittest", "runtime/durable/state", "runtime/observe/trace/tracetest"}},
	{of: "cmd/hatchel", may: []string{"cmd/hatchel/*", "hcl", "hcl/*", "adapters", "adapters/*", "runtime", "runtime/load/access", "runtime/stage/approval", "runtime/stage/files", "runtime/durable/audit", "runtime/durable/grant", "runtime/call", "runtime/load/hold", "runtime/observe/logging", "runtime/edge/mcp", "runtime/observe/metrics", "runtime/stage/result", "runtime/load/secret", "runtime/edge/served", "runtime/edge/server", "runtime/edge/signin/provider", "runtime/load/source", "runtime/load/source/git", "runtime/durable/state"}},
	{of: "cmd/hatchel-bench", may: []string{"cmd/hatchel-bench/*"}},
	{of: "cmd/hatchel-bench/soak", may: []string{"cmd/hatchel-bench/process", "cmd/hatchel-bench/upstream"}},
	{of: "examples", tests: []string{"adapters/all", "adapters/mcp/client/mcptest", "examples/orders/upstream/shop", "hcl", "cmd/hatchel/test/testblock", "hcl/value", "runtime", "runtime/durable/grant", "runtime/durable/state", "runtime/edge/auth/issuertest", "runtime/edge/mcp", "runtime/edge/server", "runtime/edge/signin/client", "runtime/durable/postgres/postgrestest", "runtime/observe/logging", "runtime/observe/trace/tracetest"}},
	{of: "examples/orders/upstream", may: []string{"examples/orders/upstream/shop"}},
}

// owners lists the packages that may import a dependency, by the prefix of its import path. A
// dependency that is not listed is forbidden outside of tests.
var owners = map[string][]string{
	"github.com/hashicorp/hcl/":               {"cmd/hatchel/importer/curl", "cmd/hatchel/editor", "cmd/hatchel/editor/*", "cmd/hatchel/lint", "cmd/hatchel/test/testblock", "hcl", "hcl/*", "cmd/hatchel-bench"},
	"github.com/hashicorp/golang-lru/":        {"runtime/edge/auth", "adapters/credential", "adapters/credential/auth", "adapters/sql", "runtime/stage/result"},
	"github.com/zclconf/go-cty/":              {"cmd/hatchel/lint", "cmd/hatchel/test/testblock", "hcl", "hcl/*"},
	"github.com/expr-lang/expr/":              {"hcl/eval/exprlang"},
	"github.com/santhosh-tekuri/jsonschema/":  {"hcl/schema"},
	"mvdan.cc/sh/":                            {"hcl/template/shelltext", "cmd/hatchel/importer/curl"},
	"golang.org/x/tools/txtar":                {"hcl/template/templatetest"},
	"github.com/go-resty/resty/":              {"adapters/http", "runtime/durable/webhook"},
	"github.com/andybalholm/brotli":           {"internal/contentcoding"},
	"github.com/klauspost/compress/zstd":      {"internal/contentcoding"},
	"golang.org/x/net/http/httpguts":          {"adapters"},
	"golang.org/x/net/http/httpproxy":         {"internal/proxy"},
	"golang.org/x/net/http2":                  {"internal/sendonce", "runtime/edge/endpoint"},
	"golang.org/x/net/idna":                   {"internal/sendonce"},
	"go.yaml.in/yaml/":                        {"cmd/hatchel/importer/*", "hcl/agentskill", "internal/yamlfile"},
	"golang.org/x/text/encoding":              {"internal/charset"},
	"golang.org/x/text/transform":             {"internal/charset"},
	"golang.org/x/text/unicode/norm":          {"cmd/hatchel/importer/*", "cmd/hatchel/lint/injection", "internal/credential", "internal/toolsearch"},
	"database/sql":                            {"adapters/sql", "runtime/durable/state", "cmd/hatchel-bench"},
	"github.com/mattn/go-sqlite3":             {"adapters/sql", "internal/sqlitefile", "runtime/durable/state", "cmd/hatchel-bench"},
	"github.com/yosida95/uritemplate":         {"hcl/uritemplate"},
	"github.com/tdewolff/minify/":             {"runtime/edge/view"},
	"github.com/jackc/pgx/":                   {"adapters/sql", "cmd/hatchel-bench", "runtime/durable/audit", "runtime/durable/postgres", "runtime/durable/postgres/postgrestest", "runtime/durable/state"},
	"github.com/aws/aws-sdk-go-v2/aws":        {"adapters/credential/aws"},
	"github.com/go-sql-driver/mysql":          {"adapters/sql"},
	"github.com/golang-jwt/jwt/":              {"adapters/credential", "adapters/credential/google", "runtime/edge/auth", "runtime/edge/auth/issuer", "runtime/edge/auth/issuertest", "runtime/edge/signin/*"},
	"github.com/go-jose/go-jose/":             {"runtime/edge/auth", "adapters/credential", "runtime/edge/auth/issuer", "runtime/edge/auth/issuertest"},
	"golang.org/x/crypto/":                    {"runtime/edge/mcp"},
	"golang.org/x/sync/":                      {"runtime/stage/elicit", "runtime/edge/mcp"},
	"golang.org/x/time/":                      {"adapters/mcp/client", "runtime/edge/auth/issuer"},
	"github.com/prometheus/":                  {"runtime/observe/metrics"},
	"github.com/fsnotify/fsnotify":            {"runtime/load/source"},
	"go.opentelemetry.io/":                    {"runtime/observe/trace", "runtime/observe/trace/tracetest"},
	"google.golang.org/protobuf/":             {"runtime/observe/trace", "runtime/observe/trace/tracetest"},
	"github.com/go-logr/logr":                 {"runtime/observe/trace"},
	"github.com/coreos/go-systemd/":           {"cmd/hatchel"},
	"github.com/spf13/cobra":                  {"cmd/hatchel"},
	"github.com/spf13/pflag":                  {"cmd/hatchel"},
	"github.com/rogpeppe/go-internal/diff":    {"runtime/edge/console", "cmd/hatchel"},
	"golang.org/x/term":                       {"cmd/hatchel/console"},
	"golang.org/x/sys/":                       {"adapters", "adapters/*", "cmd/hatchel-bench/process", "cmd/hatchel/editor/lsp", "internal/filelock", "internal/neterror", "internal/sqlitefile", "runtime/edge/server"},
	"github.com/modelcontextprotocol/go-sdk/": {"cmd/hatchel", "cmd/hatchel/oauthclient", "cmd/hatchel-bench", "cmd/hatchel-bench/*"},
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
