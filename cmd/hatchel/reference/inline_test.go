package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
)

var (
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```")
	// an argument or a block between backquotes
	inlineExample = regexp.MustCompile("`([a-z_][a-z0-9_]*(?: \"[^\"]*\")*(?: = | \\{)[^`\n]*)`")
	// the row of an argument in the reference, and a value that its documentation shows
	argumentRow = regexp.MustCompile("(?m)^\\| `([a-z_][a-z0-9_]*)` \\|.*\\|(.*)\\|$")
	shownValue  = regexp.MustCompile(`(?:as in|such as|Such as) ([{\[].*?[}\]])[.,: ]`)
	shownCode   = regexp.MustCompile("(?ms)^```hcl\n(.*?)^```")
)

// inlineExamples returns the arguments and blocks that the pages show inside of sentences, and the page of each.
func inlineExamples(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	guides, _ := filepath.Glob("../../../docs/*.md")
	reference, _ := filepath.Glob("../../../docs/reference/*.md")
	for _, page := range slices.Concat([]string{"../../../README.md"}, guides, reference) {
		src, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := fencedBlock.ReplaceAllString(string(src), "")
		for _, m := range inlineExample.FindAllStringSubmatch(prose, -1) {
			found[m[1]] = page
		}
		for _, row := range argumentRow.FindAllStringSubmatch(prose, -1) {
			for _, m := range shownValue.FindAllStringSubmatch(strings.ReplaceAll(row[2], `\*`, "*"), -1) {
				found[row[1]+" = "+m[1]] = page
			}
		}
	}
	types, err := os.ReadFile("../../../docs/reference/types.md") // its code is of no block
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range shownCode.FindAllStringSubmatch(string(types), -1) {
		found[strings.TrimSpace(m[1])] = "types.md"
	}
	return found
}

// inlineHomes are the places where an argument or a block can stand. They hold what the place requires.
var inlineHomes = []string{
	"%s",
	"server {\n%s\n}",
	"server {\ntrusted_proxies {\nheader = \"x-forwarded-for\"\n%s\n}\n}",
	"server {\ncors {\n%s\n}\n}",
	"files {\n%s\n}",
	"auth {\n%s\napi_key \"k\" { secret = secret.k }\n}",
	inSignIn("%s"),
	inSignIn("client \"c\" {\nredirects = [\"http://localhost:1/\"]\n%s\n}"),
	inSignIn("scope \"s\" {\ndescription = \"x\"\n%s\n}"),
	"state {\nsqlite = \"a\"\n%s\n}",
	"tls {\ncert = \"a\"\nkey = \"b\"\n%s\n}",
	"audit {\n%s\n}",
	"secret \"s\" {\nenv = \"S\"\n%s\n}",
	"webhook \"w\" {\nurl = \"https://hooks.example/x\"\n%s\n}",
	"connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\n%s\n}",
	"connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\n%s\n}\n}",
	"connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\noauth2 {\ntoken_url = \"https://a.example/t\"\n" +
		"client_id = \"i\"\nclient_secret = \"\"\n%s\n}\n}\n}",
	"connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\noauth2 {\ntoken_url = \"https://a.example/t\"\n" +
		"client_id = \"i\"\nkey = \"\"\n%s\n}\n}\n}",
	"connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\noauth2 {\ntoken_url = \"https://a.example/t\"\n" +
		"client_id = \"i\"\nassertion_file = \"a\"\n%s\n}\n}\n}",
	"connection \"http\" \"c\" {\nbase_url = \"https://a.example\"\nauth {\naws_sigv4 {\nservice = \"s3\"\n" +
		"region = \"eu-central-1\"\n%s\n}\n}\n}",
	"connection \"sqlite\" \"c\" {\nfile = \"c.db\"\n%s\n}",
	"connection \"postgres\" \"c\" {\nurl = \"postgres://a@b/c\"\n%s\n}",
	"connection \"mysql\" \"c\" {\nurl = \"mysql://a@b/c\"\n%s\n}",
	"connection \"shell\" \"c\" {\n%s\n}",
	"policy \"p\" {\nallow = \"true\"\n%s\n}",
	"toolset \"s\" {\n%s\n}",
	inTool("text = \"x\"\n%s"),
	inTool("text = \"x\"\ninput \"i\" {\ntype = string\n%s\n}"),
	inTool("text = \"x\"\ninput \"i\" {\n%s\n}"),
	inTool("text = \"x\"\nlimit {\n%s\n}"),
	inTool("text = \"x\"\ncache {\nttl = \"1m\"\n%s\n}"),
	inTool("text = \"x\"\napproval {\n%s\n}"),
	inTool("text = \"x\"\nhttp {\nget = \"https://a.example/\"\n%s\n}"),
	inTool("http \"shop\" {\n%s\n}"),
	inTool("http \"shop\" {\npost = \"/\"\n%s\n}"),
	inTool("sql \"db\" {\nquery = \"SELECT 1\"\n%s\n}"),
	inTool("shell {\n%s\n}"),
	inTool("shell {\ncommand = [\"ls\"]\n%s\n}"),
	inTool("shell {\ncommand = [\"ls\"]\nsandbox {\n%s\n}\n}"),
	inTool("csv {\ndirectory = \"data\"\nfile = \"a.csv\"\nrows = []\n%s\n}"),
	inTool("file {\ndirectory = \"data\"\nread = \"a\"\n%s\n}"),
	inMCPReply("%s"),
	inTool("text = \"x\"\nstep \"s\" {\n%s\nhttp \"shop\" { get = \"/\" }\n}"),
	inTool("text = \"x\"\nstep \"s\" {\n%s\nask \"q\" {\nelicit { message = \"x\" }\n}\n}"),
	inTool("text = \"x\"\nstep \"s\" {\nask \"q\" {\nelicit {\nmessage = \"x\"\n%s\n}\n}\n}"),
	inTool("text = \"x\"\nstep \"s\" {\nlog {\n%s\n}\n}"),
	"resource \"r\" {\nuri = \"a://b\"\ntext = \"x\"\n%s\n}",
	"resource \"r\" {\nuri = \"a://b\"\ntext = \"x\"\ncache {\nttl = \"1m\"\n%s\n}\n}",
}

func inSignIn(body string) string {
	return "auth {\nsign_in {\nurl = \"https://a.example\"\nprovider = \"https://id.example\"\nclient_id = \"i\"\n" +
		"client_secret = secret.k\n" + body + "\n}\n}"
}

func inMCPReply(body string) string {
	return "connection \"mcp\" \"tracker\" {\nurl = \"https://a.example\"\ndefinitions = \"tracker.tools.json\"\n}\n" +
		inTool("mcp \"tracker\" {\ncall = \"get_issue\"\narguments = { project = \"a\", number = 1 }\n}") +
		"\ntest \"x\" {\ntool = \"t\"\nmock \"mcp\" \"tracker\" {\ncall = \"get_issue\"\nreply {\n" + body + "\n}\n}\n}"
}

func inTool(body string) string {
	return "tool \"t\" {\ndescription = \"A tool.\"\n" + body + "\nINPUTS\n}"
}

var readName = regexp.MustCompile(`(?:^|[^"\w])(secret|input)\.([a-z_]+)`)

// loadInline loads an example in one of its places, beside the definitions of the tools of an MCP server, and returns
// the first error.
func loadInline(home, example string, definitions []byte) (mistake string) {
	declared := map[string]string{}
	for _, m := range readName.FindAllStringSubmatch(home+example, -1) {
		kind := "secret %q { env = \"S\" }\n"
		if m[1] == "input" {
			kind = "input %q { type = any }\n"
		}
		declared[m[1]] += fmt.Sprintf(kind, m[2])
	}
	src := strings.ReplaceAll(fmt.Sprintf(home, example), "INPUTS", declared["input"]) + "\n" + declared["secret"]
	for kind, block := range map[string]string{"shop": `connection "http" "shop" { base_url = "https://a.example" }`,
		"db": `connection "sqlite" "db" { file = "a.db" }`} {
		if strings.Contains(home, `"`+kind+`"`) {
			src += block + "\n"
		}
	}
	_, diags := hcl.Load(fstest.MapFS{"example.hcl": {Data: []byte(src)}, "input.json": {Data: []byte(`{"type": "object"}`)},
		"tracker.tools.json": {Data: definitions}}, all.Set().Kinds(), hcl.Options{
		Getenv: func(string) (string, bool) { return "postgres://a-secret-of-many-characters@b/c", true },
	})
	for _, d := range diags {
		if d.Severity == 0 {
			return d.Summary + ": " + d.Detail
		}
	}
	return ""
}

// TestInlineExamplesLoad loads each example inside of a sentence where it belongs.
func TestInlineExamplesLoad(t *testing.T) {
	definitions, err := os.ReadFile("../../../examples/upstream/tracker.tools.json")
	if err != nil {
		t.Fatal(err)
	}
	for example, page := range inlineExamples(t) {
		var mistakes []string
		fits := slices.ContainsFunc(inlineHomes, func(home string) bool {
			mistake := loadInline(home, example, definitions)
			mistakes = append(mistakes, mistake)
			return mistake == ""
		})
		if !fits {
			slices.Sort(mistakes)
			t.Errorf("%s: %s loads nowhere:\n%s", page, example, strings.Join(slices.Compact(mistakes), "\n"))
		}
	}
}
